import { DOMParser } from '@xmldom/xmldom';
import { countOf } from '../../../platform/database/count-of.js';

export const samlNamespaces = {
  assertion: 'urn:oasis:names:tc:SAML:2.0:assertion',
  protocol: 'urn:oasis:names:tc:SAML:2.0:protocol',
  metadata: 'urn:oasis:names:tc:SAML:2.0:metadata',
  signature: 'http://www.w3.org/2000/09/xmldsig#',
  encryption: 'http://www.w3.org/2001/04/xmlenc#',
  encryption11: 'http://www.w3.org/2009/xmlenc11#',
} as const;

/** An element as it is read here: no comments, no processing instructions, no entities of its own. */
export interface XmlElement {
  namespace: string;
  /** Without its prefix. */
  name: string;
  /** Those in no namespace, by name. */
  attributes: ReadonlyMap<string, string>;
  children: readonly XmlElement[];
  /** All text in it and below it, joined as canonicalisation does: what a comment divides is one text. */
  text: string;
}

/** Text that is not read. The message says why, and holds nothing of it. */
export class XmlRefused extends Error {
  constructor(
    readonly reason: 'malformed' | 'too_large',
    message: string,
  ) {
    super(message);
  }
}

/** What a message of an honest provider stays far below; the time to read grows with each of them. */
const limits = { elements: 5_000, attributesOfOne: 64, depth: 40, comments: 100 };

/**
 * Reads XML from outside, strictly: whatever the parser would mend is refused, and a DOCTYPE or a processing instruction
 * is refused before it is parsed, so that nothing is ever expanded or fetched.
 * @throws XmlRefused
 */
export function readXml(text: string, { maxLength }: { maxLength: number }): XmlElement {
  if (text.length > maxLength) throw new XmlRefused('too_large', `It is longer than ${maxLength} characters`);
  if (/<!(?:DOCTYPE|ENTITY|ELEMENT|ATTLIST|NOTATION)/i.test(text)) {
    throw new XmlRefused('malformed', 'It has a DOCTYPE, which is not read');
  }
  if (text.indexOf('<?', 1) !== -1) throw new XmlRefused('malformed', 'It has a processing instruction');
  if (countOf(text, '<') > 2 * limits.elements) throw new XmlRefused('too_large', 'It has too many elements');
  // Canonical form has none, and the library takes them out one by one, from a list that it makes anew for each.
  if (countOf(text, '<!--') > limits.comments) throw new XmlRefused('too_large', 'It has too many comments');
  return elementOf(rootElementOf(text), 1);
}

/** The children of that name. */
export const childrenOf = (element: XmlElement, namespace: string, name: string): XmlElement[] =>
  element.children.filter((child) => child.namespace === namespace && child.name === name);

/** The only child of that name, or null where there is none. @throws XmlRefused where there are several. */
export function childOf(element: XmlElement, namespace: string, name: string): XmlElement | null {
  const found = childrenOf(element, namespace, name);
  if (found.length > 1) throw new XmlRefused('malformed', `It has more than one ${name} in its ${element.name}`);
  return found[0] ?? null;
}

/** The element and everything below it, in the order of the document. */
export function* everyElement(element: XmlElement): Generator<XmlElement> {
  yield element;
  for (const child of element.children) yield* everyElement(child);
}

/** The root as the parser has it, of a text that `readXml` has read. @throws XmlRefused */
export function rootElementOf(text: string): Element {
  const refuse = (said: string) => {
    throw new XmlRefused('malformed', `It is not well-formed: ${said.split('\n')[0]?.replace(/^\[.*?]\s*/, '')}`);
  };
  let parsed: Document | undefined;
  try {
    const errorHandler = { warning: refuse, error: refuse, fatalError: refuse };
    parsed = new DOMParser({ errorHandler }).parseFromString(text, 'text/xml');
  } catch (cause) {
    if (cause instanceof XmlRefused) throw cause;
  }
  const roots = parsed ? [...nodesOf(parsed)].filter(({ nodeType }) => nodeType === kinds.element) : [];
  const [root] = roots;
  if (!root || roots.length > 1) throw new XmlRefused('malformed', 'It is not well-formed');
  return root as Element;
}

const kinds = { element: 1, text: 3, cdata: 4, comment: 8 };

function elementOf(node: Element, depth: number): XmlElement {
  if (depth > limits.depth) throw new XmlRefused('too_large', 'Its elements are nested too deeply');
  const { attributes, localName, namespaceURI } = node;
  if (attributes.length > limits.attributesOfOne)
    throw new XmlRefused('too_large', 'An element has too many attributes');
  const children: XmlElement[] = [];
  const texts: string[] = [];
  for (const child of nodesOf(node)) {
    if (child.nodeType === kinds.element) {
      const element = elementOf(child as Element, depth + 1);
      children.push(element);
      texts.push(element.text);
    } else if (child.nodeType === kinds.text || child.nodeType === kinds.cdata) {
      texts.push(child.nodeValue ?? '');
    } else if (child.nodeType !== kinds.comment) {
      throw new XmlRefused('malformed', 'It has something other than elements, text and comments');
    }
  }
  const own = Array.from({ length: attributes.length }, (_, index) => attributes.item(index) as Attr);
  return {
    namespace: namespaceURI ?? '',
    name: localName,
    attributes: new Map(own.filter(({ namespaceURI }) => !namespaceURI).map(({ name, value }) => [name, value])),
    children,
    text: texts.join(''),
  };
}

function* nodesOf(node: Node): Generator<Node> {
  for (let child = node.firstChild; child; child = child.nextSibling) yield child;
}

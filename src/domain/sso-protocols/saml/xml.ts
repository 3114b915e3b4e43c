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

/** An element without comments, processing instructions and entities of its own. */
export interface XmlElement {
  namespace: string;
  /** Without its prefix. */
  name: string;
  /** The attributes in no namespace, by name. */
  attributes: ReadonlyMap<string, string>;
  children: readonly XmlElement[];
  /** All text in it and below it, joined as by canonicalization: a comment does not divide the text. */
  text: string;
}

/** The refusal to read a text. The message says why, and contains nothing of the text. */
export class XmlRefused extends Error {
  constructor(
    readonly reason: 'malformed' | 'too_large',
    message: string,
  ) {
    super(message);
  }
}

/** Messages of honest providers stay far below these; the time to read grows with each of them. */
const limits = { elements: 5_000, attributesOfOne: 64, depth: 40, comments: 100 };

/**
 * Reads XML from outside, strictly: anything that the parser would repair is refused, and a DOCTYPE or a processing
 * instruction is refused before parsing, so that nothing is ever expanded or fetched.
 * @throws XmlRefused
 */
export function readXml(text: string, { maxLength }: { maxLength: number }): XmlElement {
  if (text.length > maxLength) throw new XmlRefused('too_large', `It is longer than ${maxLength} characters`);
  if (/<!(?:DOCTYPE|ENTITY|ELEMENT|ATTLIST|NOTATION)/i.test(text)) {
    throw new XmlRefused('malformed', 'It has a DOCTYPE, which is not read');
  }
  if (text.indexOf('<?', 1) !== -1) throw new XmlRefused('malformed', 'It has a processing instruction');
  if (countOf(text, '<') > 2 * limits.elements) throw new XmlRefused('too_large', 'It has too many elements');
  // Canonical form has no comments, and the library removes them one by one, each time from a new list.
  if (countOf(text, '<!--') > limits.comments) throw new XmlRefused('too_large', 'It has too many comments');
  return elementOf(rootElementOf(text), 1);
}

/** Returns the children with this name. */
export const childrenOf = (element: XmlElement, namespace: string, name: string): XmlElement[] =>
  element.children.filter((child) => child.namespace === namespace && child.name === name);

/** Returns the only child with this name, or null without one. @throws XmlRefused if there are several. */
export function childOf(element: XmlElement, namespace: string, name: string): XmlElement | null {
  const found = childrenOf(element, namespace, name);
  if (found.length > 1) throw new XmlRefused('malformed', `It has more than one ${name} in its ${element.name}`);
  return found[0] ?? null;
}

/** Yields the element and everything below it, in document order. */
export function* everyElement(element: XmlElement): Generator<XmlElement> {
  yield element;
  for (const child of element.children) yield* everyElement(child);
}

/** Returns the parser's root element of a text that `readXml` has accepted. @throws XmlRefused */
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

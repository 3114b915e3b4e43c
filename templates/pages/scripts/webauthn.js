// Passkeys and security keys: each form[data-webauthn] asks for options, then the authenticator, then sends its answer.
(() => {
  const { PublicKeyCredential: Credential } = window;
  const { credentials } = navigator;
  if (!Credential || !credentials) return;

  const decode = (text) =>
    Uint8Array.from(atob(text.replace(/[-_]/g, (c) => (c === '-' ? '+' : '/'))), (c) => c.charCodeAt(0));
  const encode = (buffer) =>
    btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/[+/=]/g, (c) => ({ '+': '-', '/': '_' })[c] ?? '');

  function parse(kind, json) {
    const native = `parse${kind === 'create' ? 'Creation' : 'Request'}OptionsFromJSON`;
    if (Credential[native]) return Credential[native](json);
    const { user, allowCredentials = [], excludeCredentials = [] } = json;
    json.challenge = decode(json.challenge);
    for (const named of [user, ...allowCredentials, ...excludeCredentials]) if (named) named.id = decode(named.id);
    return json;
  }

  function toJson(credential) {
    try {
      return credential.toJSON();
    } catch {} // missing, or broken by a password manager
    const { id, type, response } = credential;
    const answer = { transports: response.getTransports?.() };
    for (const name of ['clientDataJSON', 'attestationObject', 'authenticatorData', 'signature', 'userHandle']) {
      if (response[name]) answer[name] = encode(response[name]);
    }
    return { id, rawId: id, type, response: answer, clientExtensionResults: credential.getClientExtensionResults() };
  }

  async function send(url, fields) {
    const headers = { accept: 'application/json', 'content-type': 'application/json' };
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(fields) });
    const answer = await response.json();
    if (!response.ok) throw { name: answer.error, token: answer.enrollment_token };
    return answer;
  }

  let waiting;
  async function run(form, mediation, chosen) {
    waiting?.abort();
    waiting = new AbortController();
    const { signal } = waiting;
    const kind = form.dataset.webauthn;
    const fields = Object.fromEntries(new FormData(form));
    const asked = await send(form.dataset.options, fields);
    // Somebody who adds one while signed in may have to prove first who they are.
    if (asked.redirect_to) return goOn(asked);
    const { options, ...fresh } = asked.options ? asked : { options: asked };
    const credential = await credentials[kind]({ publicKey: parse(kind, options), mediation, signal });
    chosen?.();
    goOn(await send(form.action, { ...fields, ...fresh, credential: toJson(credential) }));
  }

  const hidden = (name, value) => Object.assign(document.createElement('input'), { type: 'hidden', name, value });

  // To the application, which may want its answer in a form.
  function goOn({ redirect_to, form_post }) {
    if (!form_post) return location.assign(redirect_to);
    const form = Object.assign(document.createElement('form'), { method: 'post', action: redirect_to });
    for (const [name, value] of Object.entries(form_post)) form.append(hidden(name, value));
    document.body.append(form);
    form.submit();
  }

  for (const form of document.querySelectorAll('form[data-webauthn]')) {
    const texts = JSON.parse(form.dataset.texts);
    const alert = form.querySelector('.alert');
    const show = (text) => {
      alert.hidden = !text;
      alert.setAttribute('role', 'alert');
      alert.textContent = text;
    };
    function fail({ name, token }) {
      // The key was right, but is not enough here: the page that offers others takes it from there. Or the sign-in is over,
      // mostly because it is complete, and somebody came back: as with every other form, its session goes on, or a page
      // says so.
      const next = token ? '/oauth/mfa/enroll' : name === 'expired' && form.dataset.over;
      if (next) {
        if (token) form.append(hidden('enrollment_token', token));
        form.action = next;
        return form.submit();
      }
      show(texts[name] ?? texts.other);
      void suggest();
    }

    // Passkeys among the suggestions of the field for the address; silent until one is chosen.
    let timer;
    async function suggest() {
      if (!('suggest' in form.dataset) || !(await Credential.isConditionalMediationAvailable?.())) return;
      // A challenge is good for half an hour, and a page stays open for longer;
      clearTimeout(timer);
      timer = setTimeout(() => form.className || suggest(), 1_500_000);
      let isChosen = false;
      await run(form, 'conditional', () => {
        isChosen = true;
      })
        .catch((error) => {
          if (error.name !== 'expired') throw error;
          // and a computer sleeps.
          return run(form);
        })
        .catch((error) => isChosen && fail(error));
    }

    form.addEventListener('submit', async (event) => {
      if (event.submitter?.name) return; // another way, which takes the tick along
      event.preventDefault();
      if (form.className) return;
      // No browser shows that a script waits for the network: the button does.
      form.className = 'busy';
      show('');
      await run(form).catch(fail);
      form.className = '';
    });
    form.hidden = false;
    for (const note of document.querySelectorAll('[data-no-webauthn]')) note.hidden = true;
    void suggest();
  }
})();

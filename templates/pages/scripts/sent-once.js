// A second click sends no second form: the browser would drop the answer to the first, and what signs it in with that.
(() => {
  let isSent = false;
  const forget = () => {
    isSent = false;
  };
  addEventListener('submit', (event) => {
    const { target, submitter } = event;
    if ('webauthn' in target.dataset && !submitter?.name) return; // the other script sends that
    if (isSent) return event.preventDefault();
    isSent = true;
    // Whoever has stopped it, or still waits, may send it again.
    setTimeout(forget, 5000);
  });
  addEventListener('pageshow', forget); // somebody came back
})();

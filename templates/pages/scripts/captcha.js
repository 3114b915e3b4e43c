// A form that is sent before the captcha has answered waits for that, and a captcha that cannot come is told of.
(() => {
  const place = document.querySelector('.cf-turnstile');
  if (!place) return; // the page of a code whose form for another one is not shown
  const form = place.closest('form');
  const status = form.querySelector('.cf-turnstile + p');
  let button = null; // that waits
  let isFailed = false;

  function say(what, look = '') {
    status.className = look;
    status.textContent = status.dataset[what] ?? '';
  }
  const answer = () => form.querySelector('[name=cf-turnstile-response]')?.value;
  // An address alone is enough for single sign-on, which asks no captcha.
  const isFree = ({ submitter }) =>
    'free' in (submitter?.dataset ?? {}) || (form.password?.value === '' && !submitter?.hasAttribute('formaction'));

  form.addEventListener('submit', (event) => {
    if (answer() || isFailed || isFree(event)) return;
    event.preventDefault();
    event.stopPropagation(); // nothing is sent yet, so that it may still be sent once
    button = event.submitter ?? form.querySelector('.button');
    say('wait', 'alert note');
  });

  function fail() {
    if (answer()) return;
    isFailed = true;
    button = null;
    say('failed', 'alert');
  }
  setInterval(() => {
    if (!(button || isFailed) || !answer()) return;
    const waiting = button;
    button = null;
    isFailed = false;
    say('');
    waiting?.click();
  }, 200);

  window.captchaFailed = fail; // by its widget, which goes on trying
  const isMissing = () => !window.turnstile && !place.firstElementChild;
  const look = () => isMissing() && fail();
  addEventListener('load', look);
  // One that is neither refused nor answered keeps the page loading for minutes.
  setTimeout(look, 15000);
})();

// Shows what is typed as a password, for as long as somebody wants to see it.
(() => {
  for (const button of document.querySelectorAll('.reveal')) {
    const input = document.getElementById(button.getAttribute('aria-controls'));
    const show = (isShown) => {
      input.type = isShown ? 'text' : 'password';
      button.setAttribute('aria-pressed', isShown);
    };
    // As text it would be checked by whatever checks spelling, which may be somebody's server,
    input.spellcheck = false;
    input.autocapitalize = 'none';
    input.setAttribute('autocorrect', 'off');
    button.hidden = false;
    button.addEventListener('click', () => show(input.type === 'password'));
    // and be remembered as something to suggest.
    input.form.addEventListener('submit', () => show(false));
  }
})();

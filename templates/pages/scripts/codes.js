// Recovery codes are copied, or saved as a file.
(() => {
  const bar = document.querySelector('.keep');
  if (!bar) return; // they were shown before
  const text = [...document.querySelectorAll('.codes li')].map(({ textContent }) => `${textContent.trim()}\n`).join('');
  const [copy, download] = bar.querySelectorAll('button');
  const status = bar.querySelector('[role=status]');
  copy.hidden = !navigator.clipboard;
  copy.addEventListener('click', async () => {
    status.textContent = ''; // so that it is said once more the second time
    // Views of the web in apps have a clipboard, and let nobody use it.
    const said = await navigator.clipboard.writeText(text).then(
      () => 'done',
      () => 'failed',
    );
    status.textContent = status.dataset[said];
  });
  download.addEventListener('click', () => {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([`${document.title}\n\n${text}`], { type: 'text/plain' }));
    link.download = 'recovery-codes.txt';
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
  bar.hidden = false;
})();

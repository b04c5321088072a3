// Runs in the browser: the search of the documentation site, over the index that was made with it.
(() => {
  const base = document.currentScript.dataset.base;
  const input = document.getElementById('search');
  const results = document.getElementById('results');
  const MOST = 12;
  let search = null;

  const opened = () =>
    (search ??= globalThis.MiniSearch.loadJSON(globalThis.searchIndex, {
      fields: ['title', 'page', 'text'],
      storeFields: ['url', 'page', 'title'],
    }));

  function show() {
    const words = input.value.trim();
    const found =
      words === ''
        ? []
        : opened().search(words, {
            boost: { title: 4, page: 2 },
            prefix: true,
            fuzzy: 0.15,
            combineWith: 'AND',
          });
    results.replaceChildren(
      ...found.slice(0, MOST).map(({ url, page, title }) => {
        const link = document.createElement('a');
        link.href = `${base}/${url}`;
        link.textContent = title;
        const where = document.createElement('small');
        where.textContent = title === page ? '' : ` ${page}`;
        link.append(where);
        const item = document.createElement('li');
        item.append(link);
        return item;
      }),
    );
    if (words !== '' && found.length === 0) {
      const none = document.createElement('li');
      none.textContent = 'Nothing found. Fewer words find more.';
      results.append(none);
    }
    results.hidden = words === '';
  }

  input.addEventListener('input', show);
  input.addEventListener('focus', show);
  document.addEventListener('click', ({ target }) => {
    if (!target.closest('search')) results.hidden = true;
  });
  document.addEventListener('keydown', (event) => {
    if (event.key === '/' && document.activeElement !== input && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      input.focus();
    } else if (event.key === 'Escape') {
      results.hidden = true;
      input.blur();
    } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      const links = [...results.querySelectorAll('a')];
      if (results.hidden || links.length === 0) return;
      const at = links.indexOf(document.activeElement);
      const next = event.key === 'ArrowDown' ? at + 1 : at - 1;
      event.preventDefault();
      (next < 0 ? input : (links[next] ?? links[0])).focus();
    }
  });
})();

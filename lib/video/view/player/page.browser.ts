import { mount } from './player.browser';
import type { PageData } from './settings';

/** The script of a view page: shows times in local time and mounts the player. */
function begin(): void {
  const { lang } = document.documentElement;
  for (const element of document.querySelectorAll('time')) {
    const time = new Date(element.dateTime);
    element.textContent = time.toLocaleString(lang, { dateStyle: 'medium', timeStyle: 'medium' });
    element.title = element.dateTime;
  }
  const container = document.getElementById('player');
  const data = container?.dataset['view'];
  if (container === null || data === undefined) return;
  const { settings, texts }: PageData = JSON.parse(data);
  const player = mount(container, settings, texts);
  // A page restored from the back/forward cache mounts a new player.
  window.addEventListener('pagehide', () => player.close());
  window.addEventListener('pageshow', (event) => {
    if (event.persisted) mount(container, settings, texts);
  });
}

begin();

const SVG = 'http://www.w3.org/2000/svg';

/** Shapes of 24 by 24, drawn with the colour of the text. */
const ICONS = {
  play: 'M8 5v14l11-7z',
  pause: 'M7 5h3.5v14H7zM13.5 5H17v14h-3.5z',
  sound: 'M4 9.5v5h3.5L12 19V5L7.5 9.5zM14.5 8.2v1.9a2.4 2.4 0 0 1 0 3.8v1.9a4.2 4.2 0 0 0 0-7.6z',
  silent:
    'M4 9.5v5h3.5L12 19V5L7.5 9.5zM19.8 9.4l-1.2-1.2-2.1 2.1-2.1-2.1-1.2 1.2 2.1 2.1-2.1 2.1 1.2 1.2 2.1-2.1 2.1 2.1 1.2-1.2-2.1-2.1z',
  larger: 'M5 5h6v2H7v4H5zM13 5h6v6h-2V7h-4zM5 13h2v4h4v2H5zM17 13h2v6h-6v-2h4z',
  smaller: 'M9 5h2v6H5V9h4zM13 5h2v4h4v2h-6zM5 13h6v6H9v-4H5zM13 13h6v2h-4v4h-2z',
} as const;
export type IconName = keyof typeof ICONS;

/** An element with a class of the player, and with attributes. */
export function make<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  name: string,
  attributes: Record<string, string> = {},
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  element.className = `rvm-${name}`;
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

/** @param key that does the same */
export function button(name: string, act: () => void, key?: string): HTMLButtonElement {
  const made = make('button', name, {
    type: 'button',
    ...(key !== undefined && { 'aria-keyshortcuts': key }),
  });
  made.addEventListener('click', act);
  return made;
}

/** Gives a button its icon and what it is called; nothing is touched where it has both. */
export function show(element: HTMLButtonElement, icon: IconName, label: string): void {
  if (element.dataset['icon'] === icon && element.getAttribute('aria-label') === label) return;
  element.dataset['icon'] = icon;
  element.setAttribute('aria-label', label);
  element.title = label;
  element.replaceChildren(drawn(icon));
}

function drawn(icon: IconName): SVGElement {
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS(SVG, 'path');
  path.setAttribute('d', ICONS[icon]);
  svg.append(path);
  return svg;
}

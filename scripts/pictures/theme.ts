import type { Page } from 'playwright-core';

export const THEMES = ['light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

/** The file names of a picture, one for each theme. */
export function inEachTheme(name: string): string[] {
  return THEMES.map((theme) => `${name}-${theme}.png`);
}

/** Calls `work` once with each theme of the editor switched on. */
export async function forEachTheme(page: Page, work: (theme: Theme) => Promise<void>): Promise<void> {
  for (const theme of THEMES) {
    await page.evaluate(`document.documentElement.classList.toggle('nr-theme-dark', ${theme === 'dark'})`);
    await work(theme);
  }
}

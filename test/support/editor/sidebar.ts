import type { Page } from 'playwright-core';

/** Opens the sidebar, and ends when it shows something. */
export async function showSidebar(page: Page): Promise<void> {
  await page.evaluate(`RED.sidebar.show('rvm-sidebar')`);
  await page.locator('.rvm-sidebar .rvm-stations .rvm-row').first().waitFor();
}

/** Nobody points at the rows of the sidebar any more, is among them with the keyboard, or has scrolled: they may move again. */
export async function leaveRows(page: Page): Promise<void> {
  await page.mouse.move(500, 400);
  await page.evaluate(
    `document.activeElement?.blur(); document.querySelector('.rvm-sidebar')?.scrollTo(0, 0)`,
  );
}

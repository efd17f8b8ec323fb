import { boardIsFull, inDark, openBoard } from '../../test/support/editor/alarm-board';
import { example, packagesFor } from '../../test/support/examples/examples';
import { TOLERANCE } from './picture-folder';
import type { Shoot } from './studio';
import { THEMES, type Theme } from './theme';

/** The board of example 10, whose theme is a part of its flow. */
export const BOARDS: readonly Shoot[] = THEMES.map(boardIn);

function boardIn(theme: Theme): Shoot {
  const name = `board-${theme}.png`;
  return {
    names: [name],
    palette: packagesFor('10'),
    take: async (nodeRed, studio) => {
      const flow = example('10');
      await nodeRed.deploy(theme === 'dark' ? inDark(flow) : flow);
      const page = await openBoard(studio.browser, nodeRed);
      await boardIsFull(page);
      await studio.take(name, await page.screenshot(), TOLERANCE.alarms);
      await page.close();
    },
  };
}

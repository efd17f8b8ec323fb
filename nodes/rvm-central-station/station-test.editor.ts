import type { TestResult } from '../../lib/station-test';
import { AskError, stationAsTyped, tryStation, showSteps, type Step } from '../support/editor/requests';

/** The button that tries how far the way to a moving picture goes, with what the dialog has just now. */
export function testButton(node: EditorNode): void {
  const button = $('#rvm-station-test');
  button.on('click', () => {
    button.prop('disabled', true);
    void test(node).finally(() => button.prop('disabled', false));
  });
}

async function test(node: EditorNode): Promise<void> {
  const list = $('#rvm-station-steps');
  showSteps(list, [{ outcome: 'open', title: node._('rvm-central-station.test.running'), detail: '' }]);
  try {
    const { steps } = await tryStation<{ steps: TestResult[] }>(node, 'station-test', stationAsTyped(node));
    showSteps(
      list,
      steps.map((result) => stepOf(node, result)),
    );
  } catch (error) {
    if (!(error instanceof AskError)) throw error;
    showSteps(list, [{ outcome: 'failed', title: error.message, detail: '' }]);
  }
}

function stepOf(node: EditorNode, { step, outcome, detail, code, isUnasked }: TestResult): Step {
  const said = (key: string, values?: Record<string, unknown>): string =>
    node._(`rvm-central-station.test.${key}`, values);
  const title = said(`step.${step}`);
  const isBlocked = code === 'NETWORK' || code === 'TIMEOUT';
  if (outcome === 'failed' && step === 'relay' && isBlocked)
    return { outcome, title, detail: `${detail} ${said('blocked')}` };
  if (step === 'ptz') return { outcome, title, detail: `${detail} ${said('otherNames')}` };
  if (outcome === 'ok' && detail !== '')
    return { outcome, title: `${title}: ${detail}`, detail: isUnasked ? said('unaskedVersion') : '' };
  return { outcome, title, detail };
}

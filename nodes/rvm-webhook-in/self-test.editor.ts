import { SELF_TEST_STEPS, type SelfTestReport } from '../../lib/webhook/self-test-steps';
import { AskError, post, showSteps, type Step } from '../support/editor/requests';

/** The button that posts a signed message to the address of the deployed node, as the service would. */
export function selfTestButton(node: EditorNode): void {
  const button = $('#rvm-webhook-test');
  button.on('click', () => {
    button.prop('disabled', true);
    void test(node).finally(() => button.prop('disabled', false));
  });
}

async function test(node: EditorNode): Promise<void> {
  const list = $('#rvm-webhook-steps');
  const said = (key: string, values?: Record<string, unknown>): string =>
    node._(`rvm-webhook-in.test.${key}`, values);
  if (node.changed) return showSteps(list, [{ outcome: 'failed', title: said('deployFirst'), detail: '' }]);
  showSteps(list, [{ outcome: 'open', title: said('running'), detail: '' }]);
  try {
    const report = await post<SelfTestReport>((key) => node._(key), 'webhook-test', { webhook: node.id });
    const tested: Step = { outcome: 'ok', title: said('tested', { url: report.url }), detail: '' };
    showSteps(list, [tested, ...stepsOf(report, said)]);
  } catch (error) {
    if (!(error instanceof AskError)) throw error;
    showSteps(list, [{ outcome: 'failed', title: error.message, detail: '' }]);
  }
}

type Said = (key: string, values?: Record<string, unknown>) => string;

function stepsOf({ url, failed, elsewhere }: SelfTestReport, said: Said): Step[] {
  const steps = SELF_TEST_STEPS.filter((step) => step !== 'tls' || url.startsWith('https:'));
  const place = failed === undefined ? steps.length : steps.indexOf(failed.step);
  return steps.map((step, index) => {
    const title = said(step === 'arrival' && elsewhere ? 'arrivedElsewhere' : `step.${step}`);
    if (index < place) return { outcome: 'ok', title, detail: '' };
    if (index > place || failed === undefined) return { outcome: 'open', title, detail: '' };
    return { outcome: 'failed', title, detail: said(`fault.${failed.fault}`, { seen: failed.seen }) };
  });
}

import { tell } from '../../support/editor/requests';
/**
 * Asks a question that has to be answered first.
 * @param yes what the button says that does it
 */
export function askFirst(question: string, yes: string): Promise<boolean> {
  const before = document.activeElement;
  return new Promise((resolve) => {
    const answered = (answer: boolean) => (): void => {
      asked.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
      resolve(answer);
    };
    const asked = tell(question, {
      type: 'warning',
      modal: true,
      fixed: true,
      buttons: [
        { text: RED._('common.label.cancel'), class: 'rvm-ask-no', click: answered(false) },
        { text: yes, class: 'primary rvm-ask-yes', click: answered(true) },
      ],
    });
    requestAnimationFrame(() => $('.rvm-ask-no').last().trigger('focus'));
  });
}

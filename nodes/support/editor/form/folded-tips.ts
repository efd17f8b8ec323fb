/**
 * Puts tips away behind a "?" in the row above: `<div class="form-tips rvm-more">`. They are for the first time; a dialog is opened
 * more often than that, and what is filled in should be seen whole.
 */
export function foldTips(node: EditorNode): void {
  $('.rvm-form .rvm-more').each((index, element) => {
    const tip = $(element).prop('hidden', true);
    const id = `rvm-tip-${index}`;
    const title = node._('shared.tip.more');
    const button = $('<button type="button" class="rvm-help">').text('?');
    button.attr({ title, 'aria-label': title, 'aria-expanded': 'false', 'aria-controls': id });
    tip.attr({ id, role: 'note' });
    tip.prevAll('.form-row').first().children('label').first().append(button);
    button.on('click', (event) => {
      // It stands in a label, which would give the field the focus.
      event.preventDefault();
      const isShown = tip.prop('hidden') === true;
      tip.prop('hidden', !isShown);
      button.attr('aria-expanded', String(isShown));
    });
  });
}

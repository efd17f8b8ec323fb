import { VERDICTS } from '../../lib/inbox/model';
import { prepareForm } from '../support/editor/form';
import { label, labelStyle, onpaletteadd, outputLabels, paletteLabel } from '../support/editor/palette';
import { typedField } from '../support/editor/fields';

const ACTIONS = ['done', 'retry', 'reject', 'extend'] as const;

/** Shows the reason where the event may be rejected: it is the fixed action, or the message decides. */
function showReason(): void {
  const input = $('#node-input-action');
  const isFixed = input.typedInput('type') === 'str';
  $('.rvm-settle-reason').toggle(!isFixed || input.typedInput('value') === 'reject');
}

RED.nodes.registerType('rvm-settle', {
  category: 'remote monitoring',
  color: '#e8a866',
  icon: 'rvm-settle.svg',
  inputs: 1,
  outputs: 2,
  defaults: {
    name: { value: '' },
    configVersion: { value: 1 },
    action: { value: 'done' },
    actionType: { value: 'str' },
    reason: { value: '' },
    delivery: { value: 'webhook.deliveryId' },
    deliveryType: { value: 'msg' },
    verdict: { value: 'verdict' },
    verdictType: { value: 'msg' },
    note: { value: 'note' },
    noteType: { value: 'msg' },
    by: { value: 'by' },
    byType: { value: 'msg' },
  },
  paletteLabel,
  onpaletteadd,
  label,
  labelStyle,
  outputLabels,
  oneditprepare() {
    prepareForm(this, 'node');
    const options = ACTIONS.map((value) => ({ value, label: this._(`rvm-settle.action.${value}`) }));
    typedField('action', 'str', { label: this._('rvm-settle.label.fixed'), options });
    typedField('delivery', 'msg');
    const verdicts = VERDICTS.map((value) => ({ value, label: this._(`rvm-settle.verdict.${value}`) }));
    const none = { value: '', label: this._('rvm-settle.verdict.none') };
    typedField('verdict', 'msg', {
      label: this._('rvm-settle.label.fixedVerdict'),
      options: [none, ...verdicts],
    });
    typedField('note', 'msg');
    typedField('by', 'msg');
    $('#node-input-action').on('change', showReason);
    showReason();
  },
});

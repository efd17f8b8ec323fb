import assert from 'node:assert/strict';
import { closeDialog } from '../../support/editor/browser';
import { describeInEditor, withSandbox } from '../../support/editor/in-editor';
import { webhookIn } from '../../support/node-red/flows';
import { eventually } from '../../support/time/patience';

const ITEMS = '.rvm-picker:not([hidden]) .rvm-picker-item';
const SECTION = '#rvm-webhook-filters';

const sandbox = withSandbox({ remoteId: 'record' }, webhookIn());

describeInEditor('the filters of a webhook in', sandbox, (editor) => {
  const { marked, visible } = editor;
  const chips = (name: string): Promise<string[]> =>
    editor.page.locator(`#rvm-chips-${name} .rvm-chip > span`).allInnerTexts();
  const entry = (name: string): string => `#rvm-chip-entry-${name}`;
  async function open(values: Record<string, string>): Promise<void> {
    await editor.assign('webhook', { classes: '', sites: '', cameras: '', rules: '', ...values });
    await editor.open('webhook');
  }
  async function openSection(values: Record<string, string> = {}): Promise<void> {
    await open(values);
    if (!(await editor.page.locator(entry('classes')).isVisible()))
      await editor.page.click(`${SECTION} > summary`);
  }
  const pick = (name: string): Promise<void> =>
    editor.page.locator(`#rvm-chips-${name}`).locator('..').locator('.rvm-pick').click();
  async function openPicker(name: string): Promise<void> {
    await pick(name);
    await editor.page.waitForSelector(ITEMS);
  }
  async function unknownAre(place: string, ...ids: string[]): Promise<void> {
    const unknown = editor.page.locator(`${place}.rvm-chip-unknown > span`);
    await unknown.first().waitFor();
    assert.deepEqual(await unknown.allInnerTexts(), ids);
  }

  it('are folded where none is set, and open where one is', async () => {
    await open({});
    assert.deepEqual(await visible(entry('classes')), [false]);
    await closeDialog(editor.page, 'cancel');
    await open({ rules: 'Person' });
    assert.deepEqual(await visible(entry('rules')), [true]);
    assert.deepEqual(await chips('rules'), ['Person']);
  });

  it('take several cameras from the list of the service, show their names, and keep their ids', async () => {
    await openSection();
    await openPicker('cameras');
    assert.equal(await editor.page.locator(ITEMS).count(), 24);
    const ids: string[] = [];
    const names: string[] = [];
    for (const index of [3, 8]) {
      const item = editor.page.locator(ITEMS).nth(index);
      ids.push(await item.locator('code').innerText());
      names.push(await item.locator('.rvm-picker-name').innerText());
      await item.click();
      assert.equal(await item.getAttribute('aria-pressed'), 'true');
    }
    assert.deepEqual(await chips('cameras'), names);
    await editor.saves('webhook', { cameras: ids.join(', ') });
    await editor.open('webhook');
    await editor.page.waitForFunction(
      `$('#rvm-chips-cameras .rvm-chip > span').first().text() === ${JSON.stringify(names[0])}`,
    );
  });

  it('offer the sites by name, and let one go again', async () => {
    await openSection();
    await openPicker('sites');
    const first = editor.page.locator(ITEMS).first();
    const name = await first.locator('.rvm-picker-name').innerText();
    await first.click();
    assert.deepEqual(await chips('sites'), [name]);
    await editor.page.click(`#rvm-chips-sites button[aria-label="Take out: ${name}"]`);
    assert.deepEqual([await chips('sites'), await first.getAttribute('aria-pressed')], [[], 'false']);
  });

  describe('in a low window', () => {
    beforeEach(() => editor.page.setViewportSize({ width: 1400, height: 620 }));
    afterEach(() => editor.page.setViewportSize({ width: 1400, height: 900 }));

    it('open a list within sight', async () => {
      await openSection();
      await openPicker('cameras');
      const isInSight = `(() => {
        const list = $('.rvm-picker:not([hidden])')[0].getBoundingClientRect();
        const dialog = $('#dialog-form').closest('.red-ui-tray-body')[0].getBoundingClientRect();
        return list.top >= dialog.top - 1 && list.bottom <= dialog.bottom + 1;
      })()`;
      await eventually(async () => (await editor.page.evaluate(isInSight)) === true, 'the list in sight');
    });
  });

  it('say each word once', async () => {
    await openSection();
    await openPicker('classes');
    assert.deepEqual(await editor.page.locator(ITEMS).allInnerTexts(), ['security', 'health']);
  });

  it('say that one can search by site where there are sites, and only there', async () => {
    await openSection();
    const placeholder = (): Promise<string | null> =>
      editor.page.getAttribute('.rvm-picker:not([hidden]) .rvm-picker-search', 'placeholder');
    for (const [name, text] of [
      ['classes', 'Search'],
      ['cameras', 'Search by name, site or id'],
    ] as const) {
      await openPicker(name);
      assert.equal(await placeholder(), text);
      await pick(name);
    }
  });

  it('offer the cameras of the chosen sites first', async () => {
    await openSection();
    await openPicker('cameras');
    const groups = (): Promise<string[]> =>
      editor.page.locator('.rvm-picker:not([hidden]) .rvm-picker-group').allInnerTexts();
    const [first = '', second = '', last = ''] = await groups();
    await closeDialog(editor.page, 'cancel');
    await openSection({ sites: last.toUpperCase() });
    await openPicker('cameras');
    assert.deepEqual(await groups(), [last, first, second]);
  });

  it('are typed by keyboard alone: Enter and comma add, Backspace takes the last', async () => {
    await openSection();
    await editor.page.focus(entry('rules'));
    await editor.page.keyboard.type('Person,Yard at night');
    await editor.page.keyboard.press('Enter');
    await editor.page.keyboard.type('"Gate, north"');
    await editor.page.keyboard.press('Tab');
    assert.deepEqual(await chips('rules'), ['Person', 'Yard at night', 'Gate, north']);
    await editor.page.focus(entry('rules'));
    await editor.page.keyboard.press('Backspace');
    assert.deepEqual(await chips('rules'), ['Person', 'Yard at night']);
    await editor.page.keyboard.type('Gate; south');
    await editor.saves('webhook', { rules: 'Person, Yard at night, Gate; south' });
  });

  it('leave the focus where it is when the answer of the service comes', async () => {
    let answer = (): void => undefined;
    const asked = new Promise<void>((resolve) => (answer = resolve));
    await editor.page.route(/rvm\/seen-ids/, async (route) => {
      await asked;
      await route.continue();
    });
    await openSection({ classes: 'security, securty' });
    await editor.page.locator('#rvm-chips-classes .rvm-chip button').first().focus();
    answer();
    await editor.page.locator('#rvm-chips-classes .rvm-chip-unknown').waitFor();
    assert.equal(
      await editor.page.evaluate(`$('#rvm-chips-classes .rvm-chip button').first().is(':focus')`),
      true,
    );
    await editor.page.unroute(/rvm\/seen-ids/);
  });

  it('take one out that is pressed while something is typed, and keep what was typed', async () => {
    await openSection({ rules: 'Person, Yard' });
    await editor.page.focus(entry('rules'));
    await editor.page.keyboard.type('Gate');
    await editor.page.click('#rvm-chips-rules .rvm-chip button >> nth=0');
    assert.deepEqual(await chips('rules'), ['Yard', 'Gate']);
  });

  it('do not add what an input method is still composing', async () => {
    await openSection();
    await editor.page.focus(entry('rules'));
    const keyboard = await editor.page.context().newCDPSession(editor.page);
    const text = '\u4fb5\u5165';
    await keyboard.send('Input.imeSetComposition', { text, selectionStart: 2, selectionEnd: 2 });
    await editor.page.keyboard.press('Enter');
    assert.deepEqual(await chips('rules'), []);
    await keyboard.send('Input.insertText', { text });
    await editor.page.keyboard.press('Enter');
    assert.deepEqual(await chips('rules'), [text]);
    await keyboard.detach();
  });

  it('show as picked what was typed in another spelling, and take that out', async () => {
    await openSection({ classes: 'Security' });
    await openPicker('classes');
    const item = editor.page.locator(ITEMS, { hasText: 'security' });
    assert.equal(await item.getAttribute('aria-pressed'), 'true');
    await item.click();
    assert.deepEqual(await chips('classes'), []);
  });

  it('are red where nobody knows an id, and say which, until it is taken out', async () => {
    await openSection({ cameras: 'nobody', classes: 'security, securty', sites: 'Nowhere' });
    for (const [name, id] of [
      ['cameras', 'nobody'],
      ['classes', 'securty'],
      ['sites', 'Nowhere'],
    ]) {
      await unknownAre(`#rvm-chips-${name} `, id ?? '');
      await marked(`#node-input-${name}`);
      assert.match(await editor.reason(`#rvm-chips-${name}`).innerText(), new RegExp(`: ${id}\\.`));
    }
    await editor.page.click('#rvm-chips-cameras .rvm-chip-unknown button');
    await marked('#node-input-cameras', false);
  });

  it('know a camera of the list by the id that its site has for it, too', async () => {
    const [camera] = await sandbox.cameras();
    await openSection({ cameras: `${camera?.remoteId ?? ''}, nobody` });
    await unknownAre('#rvm-chips-cameras ', 'nobody');
  });

  it('call no rule unknown, for there is no list of them', async () => {
    await openSection({ rules: 'Never seen', classes: 'securty' });
    await editor.page.locator('#rvm-chips-classes .rvm-chip-unknown').waitFor();
    assert.equal(await editor.page.locator('#rvm-chips-rules .rvm-chip-unknown').count(), 0);
  });

  it('take a variable in place of all ids, and refuse one beside others', async () => {
    await openSection({ cameras: '${CAMERAS}' });
    assert.deepEqual(await chips('cameras'), ['${CAMERAS}']);
    await editor.page.focus(entry('cameras'));
    await editor.page.keyboard.type('other');
    await editor.page.keyboard.press('Enter');
    await marked('#node-input-cameras');
    await editor.page.keyboard.press('Backspace');
    await marked('#node-input-cameras', false);
    await editor.saves('webhook', { cameras: '${CAMERAS}' });
  });

  describe('of a station that can only receive', () => {
    beforeEach(async () => {
      const refusal = { status: 422, json: { code: 'CONFIG_MISSING', message: 'It has no Agent User.' } };
      await editor.page.route(/rvm\/devices/, (route) => route.fulfill(refusal));
      const depot = { ids: ['Depot', 'site-1'], name: 'Depot', group: '' };
      const seen = { classes: [], sites: [depot], cameras: [], rules: [], isWhole: true, kinds: ['sites'] };
      await editor.page.route(/rvm\/seen-ids/, (route) => route.fulfill({ json: seen }));
    });
    afterEach(async () => {
      await editor.page.unroute(/rvm\/devices/);
      await editor.page.unroute(/rvm\/seen-ids/);
      editor.errors.splice(0); // The browser reports the answer that is no success.
    });

    it('are red where no event that came has been of any of them', async () => {
      await openSection({ sites: 'Depott, Quay' });
      await unknownAre('', 'Depott', 'Quay');
      await marked('#node-input-sites');
    });

    it('are not where one has been of one of them', async () => {
      await openSection({ sites: 'Depot, Quay', cameras: 'cam-1', classes: 'securty' });
      await unknownAre('', 'securty');
    });
  });

  it('say why the service cannot be asked, and call nothing unknown then', async () => {
    await sandbox.end();
    await openSection({ cameras: 'nobody', classes: 'securty' });
    await editor.page.locator('#rvm-chips-classes .rvm-chip-unknown').waitFor();
    await pick('cameras');
    // What was asked for before the service went is still known to the client; asked again, it says what is wrong.
    await editor.page.locator('.rvm-picker:not([hidden]) .rvm-picker-refresh').click();
    await editor.page.waitForFunction(
      `$('.rvm-picker:not([hidden]) .rvm-picker-note').text() !== '' && $('#rvm-chips-cameras .rvm-chip-unknown').length === 0`,
    );
    editor.errors.splice(0); // The browser reports the answer that is no success.
  });
});

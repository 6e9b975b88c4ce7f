import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { faultsOf } from '../fixtures/axe.ts'
import { openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none } }
  loyalty: { transport: webhook, path: /loyalty, verify: { scheme: none } }
  desk: { transport: webhook, path: /desk, verify: { scheme: none } }
  crm: { transport: webhook, path: /crm, verify: { scheme: none } }
routes:
  - { name: orders, match: { gateway: shop }, skill: confirm, retry: { attempts: 2, delay: 10ms } }
  - { name: loyalty, match: { gateway: loyalty }, skill: sync, retry: { attempts: 3, backoff: fixed, delay: 1h } }
  - { name: mail, match: { gateway: desk }, skill: answer-mail }
  - { name: calls, match: { gateway: crm }, skill: sum-up, reply: none, retry: { attempts: 1 } }
`
const SKILLS = {
  confirm: `export default {
    description: 'Confirms an order',
    run({ message }) {
      if (message && /customs/.test(message.text)) throw new Error('customs answered 502')
      if (message) throw new Error('no such SKU ' + message.text)
      return 'confirmed'
    },
  }`,
  sync: `export default {
    description: 'Copies a customer',
    run() { throw new Error('locked') },
  }`,
  'sum-up': `export default {
    description: 'Sums up a call', metadata: { timeout: '20s' },
    async run({ message }) {
      if (/broken/.test(message.text)) throw new Error('no line')
      return { summary: 'wants a lamp', words: message.text.repeat(100) }
    },
  }`,
  'answer-mail': `export default {
    description: 'Answers mail',
    metadata: { 'allowed-tools': 'pay-back' },
    run({ manager }) { return manager.invoke('pay-back', {}) },
  }`,
  'pay-back': `export default {
    description: 'Pays back', metadata: { approval: { title: 'Pay back' } }, run: () => 'paid',
  }`,
}

describe('one skill in the console', { timeout: 600_000 }, async () => {
  const site = openSite({ routes: ROUTES, skills: SKILLS })
  const daemon = await site.start()
  const { page, show, press, answer, shots } = await openConsole(() => daemon)
  const post = (path: string, text: string) => daemon.post(path, text, { 'content-type': 'text/plain' })

  test('an error leads to its runs and to its dead letters, and says when it was first seen', async () => {
    for (const text of ['4711', '4712', 'customs']) await post('/shop', text)
    const six = async () => Object(await daemon.invoke('skill-usage', { name: 'confirm' })).failed === 6
    await until(six, 'six attempts')
    await show('skills/confirm')
    const errors = page.getByRole('region', { name: 'Errors' })
    const row = errors.getByRole('row').filter({ hasText: 'no such SKU' })
    await row
      .locator('[data-label="first"]')
      .getByText(/^\d+ (?:s|min) ago$/)
      .waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('skill-errors')
    const size = page.viewportSize() ?? { width: 1280, height: 720 }
    await page.setViewportSize({ ...size, height: 300 })
    await row.getByRole('link', { name: '4 of 2 messages' }).click()
    const heading = page.getByRole('heading', { name: 'Last runs' })
    const isAtTop = async () => ((await heading.boundingBox())?.y ?? Number.POSITIVE_INFINITY) < 150
    await until(isAtTop, 'the runs to be scrolled to')
    await page.setViewportSize(size)
    const last = page.getByRole('region', { name: 'Last runs' })
    await until(async () => (await last.getByRole('row').count()) === 5, 'the head and four runs')
    assert.equal(await last.getByText('customs').count(), 0)
    assert.equal(await page.getByText('is no parameter of').count(), 0)
    await press('Remove the filter by error')
    await until(async () => (await last.getByRole('row').count()) === 7, 'all failed runs')
    await row.getByRole('link', { name: '2 dead letters' }).click()
    await until(
      async () => /dead-letters\?.*pattern=.*no\+?(?:%20)?such/.test(page.url()),
      'the dead letters',
    )
    await page.getByRole('link', { name: '4711' }).waitFor()
    assert.equal(await page.getByRole('link', { name: 'customs' }).count(), 0)
  })

  test('messages that are tried again are on the page of their skill, with the next attempt', async () => {
    await post('/loyalty', 'ada')
    const failed = async () => Object(await daemon.invoke('skill-usage', { name: 'sync' })).failed === 1
    await until(failed, 'the failed attempt')
    await show('skills/sync')
    await page
      .getByText(/1 message of route loyalty is tried again after a failed attempt, the next in .*\./)
      .waitFor()
    await page.getByText('Attempts of route loyalty: up to 3, each up to 1 min').waitFor()
    assert.deepEqual(await faultsOf(page), [])
  })

  test('requests that wait for an approval are on the pages of the skill and of its caller', async () => {
    const inList = page.locator('.skill-list')
    await post('/desk', 'please')
    const waits = async () =>
      [await daemon.invoke('approval-list', { status: 'pending' })].flat().length === 1
    await until(waits, 'the request')
    await show('skills/pay-back')
    await page.getByText('1 request to run it waits for an approval.').waitFor()
    await press('Pause skill pay-back')
    const effect = 'Calls by skill answer-mail wait, with their messages, and so do approved requests.'
    await page.getByRole('dialog').getByText(effect).waitFor()
    await answer('until it is resumed')
    await page.locator('.pause-note').getByText(effect).waitFor()
    await inList.getByRole('link', { name: /^pay-back.*paused/ }).waitFor()
    await show('approvals')
    await page.getByText('Once approved: It runs when skill pay-back is resumed.').waitFor()
    await show('skills/pay-back')
    await press('Resume skill pay-back')
    for (const name of ['pay-back', 'answer-mail'])
      await inList.getByRole('link', { name: new RegExp(`^${name}.*1 waits for approval`) }).waitFor()
    await show('skills/answer-mail')
    await page.getByText('1 message waits for an approval (route mail).').waitFor()
    await show('skills')
    const table = page.getByRole('region', { name: 'Your skills' })
    await table
      .getByRole('row')
      .filter({ hasText: 'pay-back' })
      .getByRole('link', { name: '1 waits for approval' })
      .click()
    await page.getByText('Pay back').first().waitFor()
    assert.match(page.url(), /approvals\?search=pay-back$/)
  })

  test('a pause says before and after it what it holds: messages tried again, and what is approved', async () => {
    const texts = {
      loyalty: '1 message is tried again: the next attempt waits for the end of the pause.',
      mail: '1 message waits for an approval: what is approved runs after the pause.',
    }
    const ofCalls = '1 request waits for an approval: what is approved runs after the pause.'
    await show('skills')
    await press('Pause skill pay-back')
    await page.getByRole('dialog').getByText(ofCalls).waitFor()
    await page.keyboard.press('Escape')
    const paused = await site.run(['skill', 'pause', 'pay-back'])
    assert.ok(paused.out.replaceAll(/\s+/g, ' ').includes(ofCalls), paused.out)
    await daemon.invoke('skill-resume', { skill: 'pay-back' })
    for (const [route, text] of Object.entries(texts)) {
      await show('routes')
      await press(`Pause route ${route}`)
      await page.getByRole('dialog').getByText(text).waitFor()
      await page.keyboard.press('Escape')
      const { out } = await site.run(['route', 'pause', route])
      assert.ok(out.replaceAll(/\s+/g, ' ').includes(text), out)
      await daemon.invoke('route-resume', { route })
    }
  })

  test('its time can be chosen on a phone too, where the list of skills is not beside it', async () => {
    const size = page.viewportSize() ?? { width: 1280, height: 720 }
    await page.setViewportSize({ width: 390, height: 844 })
    await show('skills/confirm')
    const time = page.getByRole('combobox', { name: 'Time' })
    await time.selectOption('last hour')
    await until(() => page.url().endsWith('skills/confirm?since=1h'), 'the range in the address')
    await page.getByRole('heading', { name: /^Last hour/ }).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('skill-on-a-phone')
    await page.setViewportSize(size)
    await until(async () => (await time.count()) === 1, 'one selection beside the list')
  })

  test('a phone has the button to pause at the right of each skill, beside who calls it', async () => {
    const size = page.viewportSize() ?? { width: 1280, height: 720 }
    await page.setViewportSize({ width: 390, height: 844 })
    await show('skills')
    const table = page.getByRole('region', { name: 'Your skills' })
    for (const name of ['confirm', 'sync', 'answer-mail', 'pay-back', 'sum-up']) {
      const row = table.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) })
      const button = await row.getByRole('button', { name: /^(?:Pause|Resume)/ }).boundingBox()
      const caller = await row.locator('.called-by').boundingBox()
      assert.ok(button && caller, name)
      assert.ok(button.x + button.width > 390 - 30, `${name}: at the right`)
      assert.ok(button.y + button.height / 2 - caller.y < caller.height, `${name}: beside its caller`)
    }
    await shots('skills-on-a-phone')
    await page.setViewportSize(size)
  })

  test('one run has what the skill returned, and how long the skill and the attempt took', async () => {
    await post('/crm', 'a call about a lamp, ')
    const ran = async () => Object(await daemon.invoke('skill-usage', { name: 'sum-up' })).runs === 1
    await until(ran, 'the run')
    await show('skills/sum-up')
    await page.getByText('Attempts of route calls: one, up to 20 s (timeout of the skill)').waitFor()
    await page.getByRole('region', { name: 'Last runs' }).locator('a[data-row]').first().click()
    const result = page.getByLabel('What it returned')
    await result.getByText('"summary": "wants a lamp"').waitFor()
    assert.equal(await result.getByText(/lamp, "\n}$/).count(), 0)
    await press(/^Show all 2,\d+ characters$/)
    await result.getByText(/a lamp, "\n}$/).waitFor()
    await page.getByText(/\(the skill \d+ ms\)/).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('run-result')
    const { out } = await site.run(['message', 'show', page.url().split('/').at(-1) ?? ''])
    assert.match(out, /done .*took \d+ ms, the skill \d+ ms\n +Returned, and not sent:\n +\{\n +"summary"/)
  })

  test('a test of a skill is marked, and is neither its last run nor one of its failures', async () => {
    await fetch(`${daemon.control}/v1/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${daemon.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ gateway: 'crm', text: 'broken line', test: true }),
    })
    const tested = async () => Object(await daemon.invoke('skill-usage', { name: 'sum-up' })).tests === 1
    await until(tested, 'the test')
    await show('skills/sum-up')
    const runs = page.locator('.figure', { hasText: 'without 1 test' })
    await runs.getByText('1', { exact: true }).waitFor()
    await page.getByRole('region', { name: 'Last runs' }).getByText('test', { exact: true }).waitFor()
    assert.equal(await page.getByRole('region', { name: 'Errors' }).count(), 0)
    assert.equal(await page.getByText(/dead letters? now/).count(), 0)
    await show('skills')
    const row = page
      .getByRole('region', { name: 'Your skills' })
      .getByRole('row')
      .filter({ hasText: 'sum-up' })
    await row.locator('.last-run').getByText('done', { exact: true }).waitFor()
    const { out } = await site.run(['skill', 'usage', 'sum-up'])
    assert.match(out, /1 run, 0 failed, .*, without 1 test$/m)
    assert.match(out, /\ttest: skill_failed\t/)
  })

  test('the dead letters of a caller are counted, and not offered without any', async () => {
    await show('skills/confirm')
    const callers = page.getByRole('listitem').filter({ hasText: 'route orders' })
    await callers.getByRole('link', { name: '3 dead letters now' }).waitFor()
    await show('skills/sync')
    await page.getByRole('listitem').filter({ hasText: 'route loyalty' }).getByText('1 failed').waitFor()
    assert.equal(await page.getByText('dead letters').filter({ visible: true }).count(), 1, 'the menu')
  })

  test('the last run of a skill is shown whatever the time is', async () => {
    await show('skills?since=2020-01-01T00:00:00Z&until=2020-01-02T00:00:00Z')
    const row = page.getByRole('region', { name: 'Your skills' }).getByRole('row')
    await row.filter({ hasText: 'sum-up' }).locator('.last-run').getByText('done', { exact: true }).waitFor()
    await show('skills/sum-up?since=2020-01-01T00:00:00Z&until=2020-01-02T00:00:00Z')
    await page.getByText(/Its last run ended .* ago: done/).waitFor()
  })

  test('a run by hand says that it is real, has no field without arguments, and asks while the skill is paused', async () => {
    await show('skills/confirm')
    await page.getByText('It names no arguments.').waitFor()
    await page.getByText('Runs the skill for real: its effects happen.').waitFor()
    assert.equal(await page.getByLabel('arguments').isVisible(), false)
    await press('Run')
    await page.getByLabel('Result', { exact: true }).getByText('confirmed').waitFor()
    await daemon.invoke('skill-pause', { skill: 'confirm', for: '2h' })
    await page.getByText('Runs the skill for real: its effects happen. It is paused.').waitFor()
    await press('Run')
    await page.getByText(/It is paused until .*\. The pause holds messages and schedules/).waitFor()
    await answer('Run it all the same')
    await page.getByLabel('Result', { exact: true }).getByText('confirmed').waitFor()
    await daemon.invoke('skill-resume', { skill: 'confirm' })
  })

  test('a pause has its end in the message after it, and in both lists', async () => {
    await show('skills')
    const row = page
      .getByRole('region', { name: 'Your skills' })
      .getByRole('row')
      .filter({ hasText: 'confirm' })
    await row.getByRole('button', { name: 'Pause skill confirm' }).click()
    await answer('for 4 hours')
    await page.getByText(/^confirm is paused until .*\d\d:\d\d\. Messages of route orders/).waitFor()
    await row.getByText(/^paused until .*\d\d:\d\d$/).waitFor()
    await show('skills/pay-back')
    await page
      .locator('.skill-list')
      .getByRole('link', { name: /^confirm.* paused until .*\d\d:\d\d/ })
      .waitFor()
    await page.getByRole('heading', { level: 1, name: 'pay-back' }).waitFor()
    assert.deepEqual(await faultsOf(page), [])
  })
})

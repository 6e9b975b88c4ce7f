import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { objectsIn } from '../../src/core/json.ts'
import { openBudgetSite } from '../fixtures/budget-site.ts'
import { openConsole } from '../fixtures/console-page.ts'
import { until } from '../fixtures/until.ts'

describe('a used-up budget in the console', { timeout: 600_000 }, async () => {
  const site = await openBudgetSite(
    '{ sender: 2 EUR/30d, skill: { summarise: 1 EUR/30d } }',
    ['summarise', 'file'],
    [
      '{ name: calls, match: { gateway: crm, text: "call*" }, skill: summarise, reply: none }',
      '{ name: notes, match: { gateway: crm }, skill: file, reply: none }',
    ],
  )
  const daemon = await site.start()
  const { page, show } = await openConsole(() => daemon)
  const post = (text: string) => daemon.post('/crm', text, { 'content-type': 'text/plain' })
  const countOf = async (route: string, outcome: string) =>
    Object(await daemon.invoke('message-histogram', { route, outcome, buckets: 1 })).total
  const row = (name: string) => page.getByRole('row').filter({ hasText: name })

  test('of a skill is a badge with what waits in Skills and Routes, and a link on Cost', async () => {
    await post('call one')
    await until(async () => (await countOf('calls', 'done')) === 1, 'a run')
    await post('call two')
    const waits = async () => (await site.run(['message', 'list', '--outcome', 'waiting'])).out
    await until(async () => /budget/.test(await waits()), 'a message that waits for the budget')
    for (const [view, name] of [
      ['skills', 'summarise'],
      ['routes', 'calls'],
    ] as const) {
      await show(view)
      await row(name)
        .getByText(/^budget used up until /)
        .waitFor()
      await row(name).getByRole('link', { name: '1 waits' }).waitFor()
    }
    await show('cost')
    const budget = page
      .getByRole('list', { name: 'Budgets' })
      .getByRole('listitem')
      .filter({ hasText: 'summarise' })
    await budget.getByText('1.00 of 1.00 EUR spent, 0.00 EUR left').waitFor()
    await budget.getByRole('link', { name: '1 message waits' }).click()
    await page.waitForURL(/#\/messages\?/)
    assert.match(page.url(), /outcome=waiting/)
    assert.match(page.url(), /route=calls/)
  })

  test('is named with the pause that also holds a message', async () => {
    await daemon.invoke('skill-pause', { skill: 'summarise', reason: 'it repeats numbers' })
    const [held] = Object(await daemon.invoke('message-search', { outcome: 'waiting', limit: 1 })).messages
    await show(`messages/${held.id}`)
    const both = /^It runs when skill summarise is resumed, and its budget is free again at /
    await page.getByText(both).waitFor()
    await show('compose?gateway=crm')
    await page.getByLabel('text').first().fill('call three')
    await page.getByRole('button', { name: 'Send test message' }).click()
    const question = page.getByRole('dialog')
    await question.getByText('about 1.00 EUR; 0.00 EUR of its budget left').waitFor()
    await question.getByRole('button', { name: 'Send test message' }).click()
    await page.getByText(both).waitFor()
    await page.getByRole('button', { name: 'Stop' }).first().click()
    await page.getByText('The test ends. No skill ran for it.').waitFor()
    const words = (await site.run(['message', 'show', held.id])).out.replaceAll(/\s+/g, ' ')
    assert.match(words, /held by the pause of skill summarise/)
    assert.match(words, /held by its budget, free again at \d{4}-/)
    const sent = await site.run(['message', 'send', 'crm', 'call four', '--wait', '100ms', '--key', 'four'])
    assert.match(
      sent.out.replaceAll(/\s+/g, ' '),
      /The skill summarise is paused, .* It runs after that when its budget is free again at \d{4}-/,
    )
    await show('paused')
    await page.getByRole('button', { name: 'Resume skill summarise' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText(/^2 messages still wait for a used-up budget, until [^.]+\.$/).waitFor()
    await dialog.getByRole('button', { name: 'Resume' }).click()
    await page.getByText(/2 messages had waited and still wait for a used-up budget, until /).waitFor()
    await daemon.invoke('run-cancel', {
      messageId: String(/Accepted as (\S+)\./.exec(sent.out)?.[1]),
      drop: true,
    })
  })

  test('of a sender is a state of the route whose messages wait for it', async () => {
    await post('note one')
    await until(async () => (await countOf('notes', 'done')) === 1, 'a run')
    await post('note two')
    const routes = async () => objectsIn(JSON.parse((await site.run(['route', 'list', '--json'])).out))
    const notes = async () => (await routes()).find(({ name }) => name === 'notes')
    await until(async () => (await notes())?.forBudget === 1, 'a message that waits for the budget')
    assert.equal((await notes())?.waiting, 1)
    assert.match((await site.run(['route', 'list'])).out.replaceAll(/\s+/g, ' '), /1 waits for a budget/)
    await show('routes')
    await row('notes').getByRole('link', { name: '1 waits for a budget' }).waitFor()
    await show('configuration/notes')
    await page.getByText('1 message waits for a budget, such as that of the sender.').waitFor()
    const waiting = Object(await daemon.invoke('message-search', { outcome: 'waiting', route: 'notes' }))
    const words = (await site.run(['message', 'show', waiting.messages[0].id])).out.replaceAll(/\s+/g, ' ')
    assert.match(words, /held by the budget of its sender, free again at \d{4}-/)
    assert.doesNotMatch(words, /budget [{:]/)
    await show(`messages/${waiting.messages[0].id}`)
    await page.getByText('for each sender is used up').first().waitFor()
    assert.doesNotMatch(String(await page.locator('main').textContent()), /"of"|budget [{:]/)
  })

  test('a pause that another person changes keeps its author, and names the other one', async () => {
    await daemon.invoke('route-pause', { route: 'notes', reason: 'the first reason' })
    await site.run(['route', 'pause', 'notes', '--for', '2h', '--reason', 'the second reason'])
    await show('paused')
    const pause = page.getByRole('row').filter({ hasText: 'the first reason' })
    await pause.getByText('control token').first().waitFor()
    await pause.getByText(/^\(changed by .* ago: the second reason\)$/).waitFor()
  })
})

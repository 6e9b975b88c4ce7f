import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { faultsOf } from '../fixtures/axe.ts'
import { openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways: { shop: { transport: webhook, path: /shop, verify: { scheme: none } } }
routes: [{ name: all, skill: echo }]
tokens: [{ name: worker, token: a-token-of-a-worker, skills: ["dead-letter-*"], gateways: [shop] }]
`
describe('the audit log in the console', { timeout: 600_000 }, async () => {
  const site = openSite({ routes: ROUTES })
  const daemon = await site.start()
  const { page, show, press, shots } = await openConsole(() => daemon)
  const rows = page.getByRole('region', { name: 'Entries' }).getByRole('row')
  const search = page.getByLabel('Search the audit log')
  const options = page.getByRole('listbox', { name: 'Suggestions' }).getByRole('option')
  const call = (skill: string, args: object, token = daemon.token) =>
    fetch(`${daemon.control}/v1/skills/${skill}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify(args),
    })
  await call('gateway-pause', { gateway: 'shop', reason: 'the warehouse is down' })
  await call('gateway-resume', { gateway: 'shop' })
  await call('dead-letter-drop', { id: 'x' }, 'a-token-of-a-worker')
  await call('route-pause', { route: 'none' })

  test('says who did what, why, and whether it was done, denied or failed', async () => {
    await show('audit')
    const paused = rows.filter({ hasText: 'Paused a gateway' })
    await paused.getByText('the warehouse is down').waitFor()
    await paused.getByText('✓ done').waitFor()
    await paused.getByRole('link', { name: 'shop', exact: true }).waitFor()
    await paused.getByRole('img', { name: 'token' }).waitFor()
    const refused = rows.filter({ hasText: 'Tried to drop a dead letter' })
    await refused.getByText('⊘ not allowed').waitFor()
    assert.doesNotMatch((await refused.textContent()) ?? '', /is not allowed: |; /)
    await rows.filter({ hasText: 'Tried to pause a route' }).getByText('✕ failed').waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('audit')
    await page.getByLabel('Result').selectOption('not allowed')
    await until(async () => (await rows.count()) === 2, 'the head and one refused call')
    await page.getByLabel('Result').selectOption('denied')
    await page.getByText('No entry matches.').waitFor()
    assert.match(page.url(), /outcome=denied/)
  })

  test('follows new entries, names the person whom an answer or a take-over is about, and finds it by the words of the buttons', async () => {
    await fetch(`${daemon.control}/v1/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${daemon.token}` },
      body: JSON.stringify({
        gateway: 'cli',
        conversation: 'order',
        from: 'Layla',
        text: 'Where?',
        subject: 'Lamp',
      }),
    })
    const [{ id: messageId }] = Object(await daemon.invoke('message-list', { sender: 'Layla' }))
    await show('audit?without=sign-*,message-submit')
    await rows.filter({ hasText: 'Paused a gateway' }).waitFor()
    assert.equal(await rows.filter({ hasText: 'Signed in' }).count(), 0)
    assert.equal(
      await page.getByRole('combobox', { name: 'Action', exact: true }).inputValue(),
      '-sign-*,message-submit',
    )
    // As somebody else in the console.
    const answer = await page.evaluate(
      `fetch('/v1/skills/gateway-send', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ messageId: '${messageId}', text: 'On Monday.' }) }).then(({ status }) => status)`,
    )
    assert.equal(answer, 200)
    const answered = rows.filter({ hasText: 'Answered by hand' })
    await answered.getByRole('link', { name: 'Layla: Lamp' }).waitFor()
    await call('conversation-note', { gateway: 'cli', conversation: 'order', text: 'She calls at noon.' })
    await rows.filter({ hasText: 'Wrote a note in a conversation' }).getByText('She calls at noon.').waitFor()
    await call('conversation-pause', { gateway: 'cli', conversation: 'order' })
    await call('conversation-resume', { gateway: 'cli', conversation: 'order' })
    await search.fill('hand back')
    await rows.filter({ hasText: 'Handed back a conversation Layla: Lamp' }).waitFor()
    await search.fill('layla')
    await until(async () => (await rows.count()) === 5, 'an answer, a note, a take-over and a hand-back')
    await page.setViewportSize({ width: 390, height: 844 })
    const top = await rows.nth(1).boundingBox()
    const bar = await page.locator('main header.bar').boundingBox()
    assert.ok(top && bar && top.y - bar.y < 170, `the first entry is at ${top?.y}, the bar at ${bar?.y}`)
    assert.deepEqual(await faultsOf(page), [])
    await shots('audit-phone')
    await page.setViewportSize({ width: 1200, height: 900 })
  })

  test('suggests keys after a colon, and then values', async () => {
    await show('audit')
    await search.fill(':')
    await options.first().waitFor()
    assert.deepEqual(await options.locator('code').allTextContents(), [
      ...['by:', 'action:', 'without:', 'kind:', 'result:', 'object:'],
    ])
    assert.deepEqual(await faultsOf(page), [])
    await search.fill('act')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await options.filter({ hasText: 'gateway-resume' }).click()
    await page.waitForURL(/action=gateway-resume/)
    await until(async () => (await rows.count()) === 2, 'one entry')
    assert.equal(await search.inputValue(), 'action:gateway-resume ')
    await search.fill('action:gateway-* object:"shop" resul:done')
    await page.getByRole('alert').getByText('resul: is not a known key').waitFor()
    await search.fill('action:gateway-* warehouse')
    await page.waitForURL(/action=gateway-\*&what=warehouse/)
    await rows.filter({ hasText: 'Paused a gateway' }).waitFor()
    await search.blur()
    await page.reload()
    assert.equal(await search.inputValue(), 'action:gateway-* warehouse')
  })

  test('shows one entry whole, with what was before and after, at an address of its own', async () => {
    await show('audit?action=gateway-resume')
    await rows.filter({ hasText: 'Resumed a gateway' }).getByRole('link', { name: /ago$/ }).click()
    await page.getByRole('heading', { name: 'Resumed a gateway ✓ done' }).waitFor()
    await page.getByText('control token resumed a gateway shop').waitFor()
    const changes = page.getByRole('region', { name: 'Changes' })
    await changes.getByText('the warehouse is down').waitFor()
    await changes.getByText('none', { exact: true }).waitFor()
    await page.getByText('127.0.0.1').first().waitFor()
    const others = page.getByRole('table', { name: 'Also about it' })
    await others.getByRole('row').filter({ hasText: 'Paused a gateway' }).waitFor()
    assert.equal(await others.getByRole('row').filter({ hasText: 'Resumed' }).count(), 0)
    assert.deepEqual(await faultsOf(page), [])
    await shots('audit-entry')
    const url = page.url()
    await page.reload()
    assert.equal(page.url(), url)
    await page.getByRole('link', { name: 'All about this object' }).click()
    await rows.filter({ hasText: 'Paused a gateway' }).waitFor()
    await show('audit/00000000-0000-7000-8000-000000000000')
    await page.getByText('There is no such entry.').waitFor()
  })

  test('an entry leads to its neighbours, and says what its sender was told and what the message is now', async () => {
    await show('audit')
    await rows.filter({ hasText: 'Paused a gateway' }).getByRole('link', { name: /ago$/ }).click()
    await page.getByRole('button', { name: 'Previous' }).click()
    await page.getByRole('heading', { name: 'Resumed a gateway ✓ done' }).waitFor()
    await show('audit?action=gateway-send')
    await rows.getByRole('link', { name: 'Answered by hand' }).first().click()
    await page.getByRole('heading', { name: 'What came of it' }).waitFor()
    await page.getByText(/^The message is now/).waitFor()
    await page.getByText(/^Layla was (not )?told/).waitFor()
    assert.deepEqual(await faultsOf(page), [])
  })

  test('lists starts of the daemon and failed changes of its file, and hides submitted messages', async () => {
    await show('audit?kind=system')
    await rows.filter({ hasText: 'Started the daemon' }).getByText('✓ done').waitFor()
    site.write('routes.yaml', `${ROUTES}routes2: []\n`)
    await fetch(`${daemon.control}/v1/reload`, {
      method: 'POST',
      headers: { authorization: `Bearer ${daemon.token}` },
    })
    await show('audit?kind=system&outcome=failed')
    await rows.filter({ hasText: 'Tried to change the configuration' }).getByText('routes2').first().waitFor()
    site.write('routes.yaml', ROUTES)
    await fetch(`${daemon.control}/v1/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${daemon.token}` },
      body: JSON.stringify({ gateway: 'shop', text: 'hello' }),
    })
    await show('audit')
    await rows.filter({ hasText: 'Submitted a message' }).first().waitFor()
    const actions = page.getByRole('combobox', { name: 'Action', exact: true })
    await actions.selectOption('all but submitted messages')
    await page.waitForURL(/without=message-submit/)
    await rows.filter({ hasText: 'Submitted a message' }).first().waitFor({ state: 'detached' })
    await rows.filter({ hasText: 'Started the daemon' }).waitFor()
    assert.equal(await page.getByText('is no parameter of').count(), 0)
    await actions.selectOption('start the daemon')
    await page.waitForURL(/action=daemon-start/)
    await until(async () => (await rows.count()) === 2, 'the head and one start')
    await page.getByRole('combobox', { name: 'Who' }).selectOption('Trivium itself')
    await page.waitForURL(/by=system/)
    await rows.filter({ hasText: 'Started the daemon' }).waitFor()
    await actions.selectOption('any')
    await page.waitForURL(/audit\?by=system$/)
  })

  test('a parameter of another view in the address is used for the search, or reported as ignored', async () => {
    await show('audit?search=warehouse')
    await rows.filter({ hasText: 'Paused a gateway' }).waitFor()
    await until(async () => (await rows.count()) === 2, 'the head and one entry')
    await show('audit?colour=red&by=worker')
    const note = page.getByRole('alert').filter({ hasText: 'colour=red, which is no parameter of Audit' })
    await note.waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('audit-unknown-key')
    await note.getByRole('link', { name: 'Remove it' }).click()
    await note.waitFor({ state: 'detached' })
    assert.match(page.url(), /#\/audit\?by=worker$/)
  })

  test('has changes of the configuration, with the names of what changed and no author', async () => {
    site.write('routes.yaml', ROUTES.replace('skill: echo', 'skill: echo, reply: none'))
    await show('audit')
    const changed = rows.filter({ hasText: 'Changed the configuration' })
    await changed.getByText('routes.all').waitFor()
    await changed.getByRole('link', { name: 'from routes.yaml' }).waitFor()
    assert.deepEqual(await faultsOf(page), [])
    await shots('audit-configuration')
  })

  test('exports all entries that match as CSV', async () => {
    await show('audit?action=gateway-*')
    await rows.first().waitFor()
    const saved = page.waitForEvent('download')
    await press('Export CSV')
    const [head, ...lines] = readFileSync(await (await saved).path(), 'utf8')
      .trimEnd()
      .split('\r\n')
    assert.match(head ?? '', /^time,by,kind,via,action,/)
    assert.equal(lines.length, 3)
    assert.match(lines[2] ?? '', /gateway-pause.*the warehouse is down/)
  })

  test('shows the filter of a bulk action, and that an action changed nothing', async () => {
    await call('skill-resume', { skill: 'echo' })
    await call('dead-letter-retry', { all: true, group: 'all', error: 'P is not in the catalogue' })
    await call('dead-letter-bulk', { do: 'drop', code: 'skill_failed' })
    await show('audit')
    await rows.filter({ hasText: 'Tried to resume a skill' }).getByText('nothing changed').waitFor()
    const retried = rows.filter({ hasText: 'route all error P is not in the catalogue' })
    await retried.getByText('nothing changed').waitFor()
    await rows
      .filter({ hasText: 'Tried to drop dead letters code skill_failed' })
      .getByText('nothing changed')
      .waitFor()
  })

  test('two names of one person can be chosen together', async () => {
    for (const name of ['ada@example.com', 'ada@desk'])
      await fetch(`${daemon.control}/v1/skills/gateway-pause`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${daemon.token}`,
          'x-trivium-client': name,
        },
        body: JSON.stringify({ gateway: 'shop', reason: `as ${name}` }),
      })
    await show('audit')
    await page.reload()
    await page.getByLabel('Who').selectOption('ada@… (2 names)')
    await until(async () => (await rows.count()) === 3, 'the head and both entries')
    await rows.filter({ hasText: 'as ada@example.com' }).waitFor()
    await rows.filter({ hasText: 'as ada@desk' }).waitFor()
    await daemon.invoke('gateway-resume', { gateway: 'shop' })
  })
})

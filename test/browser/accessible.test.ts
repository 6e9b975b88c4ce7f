import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { faultsOf } from '../fixtures/axe.ts'
import { openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { serveHttp } from '../fixtures/http-server.ts'
import { phoneFaults } from '../fixtures/phone.ts'
import { until } from '../fixtures/until.ts'

const routesWith = (url: string) => `
gateways:
  chat: { transport: websocket, path: /chat }
  shop: { transport: webhook, path: /hooks/shop, verify: { scheme: none }, event: data.body.type }
  bank: { transport: webhook, path: /hooks/bank, verify: { scheme: github, secret: open-sesame-4711 } }
subscriptions:
  - { name: crm, topic: gateway-message, url: "${url}/crm", allow-private: true, secret: whsec_${'c2VjcmV0'.repeat(5)} }
schedules: [{ name: nightly, cron: "30 3 * * *", timezone: Europe/Berlin, skill: echo }]
routes:
  - { name: bad, match: { gateway: shop, text: /fail/ }, skill: fail, retry: { attempts: 1 } }
  - { name: paused, match: { gateway: shop, text: /wait/ }, skill: echo }
  - { name: all, match: { gateway: shop }, skill: echo, reply: none }
`
const SKILLS = {
  fail: `export default { description: 'fails', run({ args }) { throw new Error(args.text + ': <b>no</b>') } }`,
  wipe: `import { z } from 'zod'
export default { description: 'Wipes', args: z.strictObject({ disk: z.string() }), metadata: { approval: true }, run: () => '' }`,
}

describe('the console is accessible', { timeout: 900_000 }, async () => {
  const { url } = await serveHttp((_, response) => {
    response.writeHead(503).end('crm-ingest-2: disk quota exceeded')
  })
  const site = openSite({ routes: routesWith(url), skills: SKILLS })
  const daemon = await site.start()
  const { page, dialog, show, press } = await openConsole(() => daemon)
  const inMenu = async (name: RegExp) => {
    await page.getByText('More', { exact: true }).click()
    await press(name)
  }
  const post = async (text: string) =>
    String(
      Object((await daemon.post('/hooks/shop', JSON.stringify({ type: 'customers/update', text }))).body).id,
    )
  /** Opens a view and waits for its data. */
  const open = async (place: string) => {
    await show(place)
    await page.getByRole('heading', { level: 1 }).first().waitFor()
    const main = page.getByRole('main')
    await main.getByText('Loading …').first().waitFor({ state: 'detached' })
    await main.locator('[aria-busy=true]').first().waitFor({ state: 'detached' })
  }
  const letters = async () => Object(await daemon.invoke('dead-letter-list', {}))

  /** Something of everything that a view can show, and the addresses of single things. */
  const fill = async () => {
    await daemon.invoke('event-subscribe', { topic: 'orders', queue: 'audit' })
    const { id: event } = Object(
      await daemon.invoke('event-emit', { topic: 'orders', data: { order: 4711 } }),
    )
    await daemon.invoke('route-pause', { route: 'paused', reason: 'the printer is broken' })
    const waiting = await post(`wait ${'for the printer '.repeat(8)}`)
    const dead = await post('fail permanently')
    await daemon.post('/hooks/bank', '{}')
    void daemon.invoke('wipe', { disk: 'a' }).catch(String)
    await until(async () => (await letters()).length === 1, 'a dead letter')
    for (const who of ['ada', 'petra'])
      await fetch(`${daemon.control}/v1/messages`, {
        method: 'POST',
        headers: { authorization: `Bearer ${daemon.token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ gateway: 'chat', conversation: who, from: who, text: 'Where is my tent?' }),
      })
    await daemon.invoke('conversation-note', { gateway: 'chat', conversation: 'petra', text: 'Call her.' })
    const attempts = async () => Object(await daemon.invoke('subscription-show', { name: 'crm' })).attempts
    const [attempt] = await until(async () => (await attempts()).length > 0 && attempts(), 'an attempt')
    const { job } = Object(await daemon.invoke('dead-letter-bulk', { do: 'retry', group: 'bad' }))
    await until(async () => (await letters())[0]?.retriedAt !== undefined, 'the dead letter again')
    const { entries } = Object(await daemon.invoke('audit-list', { limit: 1 }))
    const person = encodeURIComponent('shop:127.0.0.1')
    return [
      'messages?text=nowhere',
      `messages/${dead}`,
      `messages/${waiting}`,
      `dead-letters/${dead}`,
      `conversations/shop/${dead}`,
      'conversations?show=all',
      'queues/orders/audit',
      'queues/gateway-message/crm',
      `queues/orders/audit/${event}`,
      `queues/gateway-message/crm/${attempt.event}/${attempt.at}`,
      'conversations/chat/petra',
      'gateways/shop',
      'gateways/shop?since=15m',
      'gateways/bank',
      'skills/fail',
      'schedules/nightly',
      `jobs/${job.id}`,
      `people?who=${person}`,
      `audit/${entries[0].id}`,
      'configuration?show=routes',
      'configuration/bad',
      'routes/bad',
      'no/such/place',
    ]
  }

  test('in every view, in light and dark colours, and fits into every window', async () => {
    const places = await fill()
    await show('now')
    await page.getByRole('link', { name: 'Dead letters 1' }).waitFor()
    const views = await page
      .locator('nav a[href^="#/"]')
      .evaluateAll((links) => links.map((link) => String(link.getAttribute('href')).slice(2)))
    assert.deepEqual(views, viewsOf('path'))
    for (const view of viewsOf('parts'))
      assert.ok(
        places.some((place) => place.startsWith(`${view}/`)),
        `a page below ${view}`,
      )
    const unfit: string[] = []
    /** The layout follows the window, so that a page is opened once for several sizes. */
    const checkFit = async (place: string, width: number) => {
      await page.setViewportSize({ width, height: 844 })
      const faults = await phoneFaults(page)
      const shown = width < 768 ? faults : faults.filter((fault) => /sideways|outside/.test(fault))
      unfit.push(...shown.map((fault) => `${place} at ${width}: ${fault}`))
    }
    for (const [width, colorScheme] of [
      [1440, 'light'],
      [390, 'dark'],
    ] as const) {
      await page.setViewportSize({ width, height: 844 })
      await page.emulateMedia({ colorScheme })
      for (const place of [...views, ...places]) {
        await open(place)
        assert.deepEqual(await faultsOf(page), [], `${place} at ${width}`)
        assert.equal(await page.locator('h1:visible').count(), 1, `the title of ${place} at ${width}`)
        if (width === 390) await checkFit(place, 390)
      }
    }
    for (const place of [...views, ...places]) {
      // The narrow one first: a chart follows the window a moment later.
      await page.setViewportSize({ width: 320, height: 844 })
      await open(place)
      for (const width of [320, 768]) await checkFit(place, width)
    }
    assert.deepEqual(unfit, [])
  })

  test('shows in every view where the focus is', async () => {
    await page.setViewportSize({ width: 1440, height: 900 })
    for (const place of viewsOf('path')) {
      await open(place)
      await page.getByRole('main').focus()
      for (let presses = 0; presses < 6; presses++) {
        await page.keyboard.press('Tab')
        const hidden = await page.evaluate<string>(`(() => {
          const at = document.activeElement
          const { outlineStyle, boxShadow } = getComputedStyle(at)
          const { width, bottom, top } = at.getBoundingClientRect()
          const isShown = width > 0 && bottom > 0 && top < innerHeight
          return isShown && (outlineStyle !== 'none' || boxShadow !== 'none') || at === document.body ? '' : at.outerHTML.slice(0, 80)
        })()`)
        assert.equal(hidden, '', place)
      }
    }
  })

  const selectConversations = async () => {
    const boxes = page.getByRole('list', { name: 'Conversations' }).getByRole('checkbox')
    const chat = boxes.and(page.getByLabel(/ada|petra/))
    await chat.first().waitFor({ state: 'attached' })
    for (const box of await chat.all()) await box.dispatchEvent('click')
    await page.getByRole('group', { name: 'Selected rows' }).getByText('2 selected').waitFor()
  }

  test('after each step of work, on a desktop and on a phone', async () => {
    await page.emulateMedia({ colorScheme: 'light' })
    await daemon.invoke('conversation-pause', { gateway: 'chat', conversation: 'ada' })
    const [first] = Object(await daemon.invoke('troubles', {})).troubles
    await daemon.invoke('trouble-acknowledge', { id: first.id, reason: 'I call the bank' })
    const steps: [view: string, act: () => Promise<unknown>][] = [
      ['now', () => page.getByRole('heading', { name: 'Somebody has it 1' }).waitFor()],
      ['conversations/chat/petra', () => page.getByRole('button', { name: 'Note', exact: true }).click()],
      ['conversations', selectConversations],
    ]
    for (const [width, colorScheme] of [
      [1440, 'light'],
      [390, 'dark'],
    ] as const)
      for (const [view, act] of steps) {
        // A phone has no checkboxes.
        if (act === selectConversations && width < 768) continue
        await page.setViewportSize({ width, height: 844 })
        await page.emulateMedia({ colorScheme })
        await open(view)
        await act()
        assert.deepEqual(await faultsOf(page), [], `${view} at ${width}`)
        if (act !== selectConversations) continue
        await press(/^Settle 2/)
        await dialog.waitFor()
        assert.deepEqual(await faultsOf(page), [], 'the dialog of several conversations')
        await page.keyboard.press('Escape')
      }
  })

  test('in every kind of dialog, in dark colours and on a phone', async () => {
    await page.emulateMedia({ colorScheme: 'dark' })
    const dialogs: [view: string, act: () => Promise<unknown>][] = [
      ['now', () => page.keyboard.press('Control+k')],
      ['now', () => page.keyboard.press('?')],
      ['now', () => page.getByRole('button', { name: 'I have it' }).first().click()],
      ['conversations/chat/petra', () => press(/^Delete the note/)],
      ['messages', () => press('Help with search words')],
      ['queues', () => press(/^New push subscription/)],
      ['gateways/shop', () => press(/^Pause/)],
      ['dead-letters', () => press(/^Drop/)],
      ['approvals', () => press(/^Deny/)],
      [`messages/${(await letters())[0].id}`, () => inMenu(/^Edit and send again/)],
    ]
    for (const width of [1440, 390])
      for (const [view, act] of dialogs) {
        await page.setViewportSize({ width, height: 844 })
        await open(view)
        await act()
        await dialog.waitFor()
        assert.deepEqual(await faultsOf(page), [], `the dialog of ${view} at ${width}`)
        if (width < 768) assert.deepEqual(await phoneFaults(page), [], `the dialog of ${view} at ${width}`)
        await page.keyboard.press('Escape')
        await dialog.waitFor({ state: 'detached' })
      }
  })
})

/** The views of the console in their order; with `parts`, those that have pages below them. */
function viewsOf(what: 'path' | 'parts'): string[] {
  const source = readFileSync(new URL('../../src/console/views/index.js', import.meta.url), 'utf8')
  return source.split(/\n {2}\{/).flatMap((entry) => {
    const [, path] = /path: '([a-z-]+)'/.exec(entry) ?? []
    return path === undefined || (what === 'parts' && /parts: 0/.test(entry)) ? [] : [path]
  })
}

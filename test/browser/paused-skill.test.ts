import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openConsole } from '../fixtures/console-page.ts'
import { openSite } from '../fixtures/daemon.ts'
import { intercept } from '../fixtures/intercept.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  shop: { transport: webhook, path: /hooks/shop, verify: { scheme: none } }
  desk: { transport: webhook, path: /hooks/desk, verify: { scheme: none } }
routes:
  - { name: desks, match: { gateway: desk }, skill: helper }
  - { name: labels, match: { gateway: shop, text: "label*" }, skill: label }
  - { name: orders, match: { gateway: shop, text: "order*" }, skill: order }
  - { name: rest, match: { gateway: shop }, skill: order }
`
const ANSWER = `export default { description: 'Answers', run: () => 'here' }`
const HELPER = `export default { description: 'Helps', run: ({ manager }) => manager.invoke('tool', {}) }`

describe('the messages that wait for a paused skill', { timeout: 600_000 }, async () => {
  const site = openSite({
    routes: ROUTES,
    skills: { label: ANSWER, order: ANSWER, tool: ANSWER, helper: HELPER },
  })
  const daemon = await site.start()
  const { page, show, answer } = await openConsole(() => daemon)
  const pause = async (skill: string, text: string) => {
    await daemon.invoke('skill-pause', { skill, for: '2h' })
    await daemon.post('/hooks/shop', text, { 'content-type': 'text/plain' })
    const isHeld = async () =>
      [await daemon.invoke('pause-list')]
        .flat()
        .some((each) => Object(each).name === skill && Object(each).waiting === 1)
    await until(isHeld, 'a held message')
  }

  test('are linked from the skill, Paused and Now by its only route, and not with several routes', async () => {
    await pause('label', 'label 4711')
    await pause('order', 'order 12')
    const links = async () => {
      const found = page.locator('main').getByRole('link', { name: /^(1 message|See (it|them))$/ })
      await found.first().waitFor()
      return Promise.all((await found.all()).map((each) => each.getAttribute('href')))
    }
    const ofLabels = ['#/messages?outcome=waiting&route=labels']
    await show('skills/label')
    await page.locator('.pause-note').getByText('waits.').waitFor()
    assert.deepEqual(await links(), ofLabels)
    // The number stays beside its noun.
    await show('skills')
    await page.setViewportSize({ width: 1000, height: 800 })
    const waits = page
      .getByRole('row')
      .filter({ hasText: 'label' })
      .getByText(/^1 message waits$/)
    await waits.waitFor()
    const { height = 0 } = Object(await waits.boundingBox())
    assert.ok(height > 0 && height < 26, `one line, not ${height} px`)
    await page.setViewportSize({ width: 1200, height: 900 })
    await show('paused')
    await page.getByRole('row').filter({ hasText: 'order' }).getByText('1 message').waitFor()
    assert.deepEqual(await links(), ofLabels)
    await show('now')
    await page.getByRole('listitem').filter({ hasText: 'Skill order is paused' }).waitFor()
    assert.deepEqual(await links(), ofLabels)
    await show('skills/order')
    await page.locator('.pause-note').getByText('1 message waits.').waitFor()
    assert.equal(await page.locator('.pause-note a').count(), 0)
  })

  test('are named by what starts them in the pause of a skill that no route runs', async () => {
    await daemon.invoke('skill-pause', { skill: 'tool', for: '2h' })
    const effect = /All that starts it waits: messages, schedules, other skills and approved requests\./
    await show('paused')
    await page.locator('main').getByText(effect).waitFor()
    const size = page.viewportSize() ?? { width: 1280, height: 720 }
    await page.setViewportSize({ width: 390, height: 844 })
    const row = page.getByRole('row').filter({ hasText: 'tool' })
    const about = await row.getByText(effect).boundingBox()
    const button = await row.getByRole('button', { name: /^Resume/ }).boundingBox()
    assert.ok(about && button && about.y + about.height <= button.y, 'inside its entry, above the buttons')
    await page.setViewportSize(size)
    await show('now')
    const entry = page.getByRole('listitem').filter({ hasText: 'Skill tool is paused' })
    await entry.getByText(effect).first().waitFor()
    assert.equal(await entry.getByText('accepted, but wait').count(), 0)
    const { out } = await site.run(['trouble', 'list'])
    assert.match(out.replaceAll(/\s+/g, ' '), effect)
    await daemon.invoke('skill-resume', { skill: 'tool' })
  })

  test('are those whose skills call it, too', async () => {
    await daemon.invoke('skill-pause', { skill: 'tool', for: '2h' })
    const { body } = await daemon.post('/hooks/desk', 'please', { 'content-type': 'text/plain' })
    const id = String(Object(body).id)
    const isHeld = async () =>
      [await daemon.invoke('pause-list')].flat().some((each) => Object(each).messageIds?.includes(id))
    await until(isHeld, 'the call to wait')
    await show('skills')
    const inList = page
      .getByRole('region', { name: 'Your skills' })
      .getByRole('row')
      .filter({ hasText: 'tool' })
    await inList.getByRole('link', { name: '1 message' }).click()
    await until(() => /messages\?outcome=waiting&route=desks$/.test(page.url()), 'the messages of the caller')
    await show(`messages/${id}`)
    await page
      .locator('.now-it')
      .getByText(/^It runs when skill tool is resumed\./)
      .waitFor()
    await page.locator('.timeline').getByText('waits for a paused skill').waitFor()
    await show('paused')
    await page
      .getByRole('row')
      .filter({ hasText: 'tool' })
      .getByRole('button', { name: 'Resume skill tool' })
      .click()
    await page.getByRole('dialog').getByText('1 message waits and runs now, oldest first.').waitFor()
    await answer('Resume')
    await page.getByText('1 message had waited').first().waitFor()
    await until(async () => {
      const { outcome } = Object(await daemon.invoke('message-show', { id }))
      return outcome === 'done'
    }, 'the message to be handled')
  })

  test('have the end of a timed pause in their timeline, as in the banner', async () => {
    const { messages } = Object(await daemon.invoke('message-search', { route: 'labels' }))
    await show(`messages/${messages[0].id}`)
    const banner = await page.locator('.now-it time:not(.age)').textContent()
    const held = page.locator('.timeline li').filter({ hasText: 'held by the pause of skill label' })
    await held.getByText(/^For .*, until /).waitFor()
    const text = String(await held.textContent())
    assert.ok(banner && text.includes(`until ${banner}.`), `${banner} in ${text}`)
  })

  test('are shown although another pause began while the pauses were loading', async () => {
    await show('routes')
    const row = (route: string) =>
      page.getByRole('row').filter({ hasText: route }).getByText('paused', { exact: true })
    await page.getByRole('row').filter({ hasText: 'rest' }).waitFor()
    const { promise: mayAnswer, resolve: release } = Promise.withResolvers<void>()
    const { promise: hasLoaded, resolve: loaded } = Promise.withResolvers<void>()
    const end = await intercept(page, '**/v1/skills/pause-list', async (route) => {
      const response = await route.fetch()
      loaded()
      await mayAnswer
      await route.fulfill({ response })
    })
    await daemon.invoke('route-pause', { route: 'orders' })
    await hasLoaded
    await daemon.invoke('route-pause', { route: 'rest' })
    // The palette lists what the daemon has reported.
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: /^Go to/ }).fill('route rest is paused')
    await page.getByRole('option', { name: /^Route rest is paused/ }).waitFor()
    await page.keyboard.press('Escape')
    release()
    await row('orders').waitFor()
    await row('rest').waitFor()
    await end()
  })

  test('are dispatched again from the page of the route, which has no second pause beside it', async () => {
    await show('configuration/labels')
    const note = page.locator('.pause-note')
    await note.getByText('The skill label is paused').waitFor()
    const buttons = page.locator('header .buttons')
    await buttons.getByRole('button', { name: 'Pause the route' }).waitFor()
    assert.deepEqual(await buttons.getByRole('link').allTextContents(), [
      'Its messages',
      'Its failed messages',
      'Its dead letters',
      'Test …',
    ])
    const waited = page.locator('.figure').filter({ hasText: /^Waited/ })
    const left = waited.getByRole('link', { name: '1 that waits' })
    assert.match(String(await left.getAttribute('href')), /messages\?route=labels&since=.*&outcome=waiting$/)
    await note.getByRole('button', { name: 'Resume the skill' }).click()
    await answer('Resume')
    await note.waitFor({ state: 'detached' })
    await page.getByRole('list', { name: 'Last messages' }).getByText('done').waitFor()
    await buttons.getByText('Pause …', { exact: true }).waitFor()
  })
})

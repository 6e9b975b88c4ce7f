import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { faultsOf } from '../fixtures/axe.ts'
import { launchChromium } from '../fixtures/console-page.ts'
import { startDemo } from '../fixtures/demo.ts'

const SIZES = [
  { width: 1440, height: 900 },
  { width: 390, height: 844 },
]

describe('the console with the demo', { timeout: 600_000 }, async () => {
  const demo = await startDemo({ messages: 5_000 })
  const browser = await launchChromium()
  for (const viewport of SIZES) {
    for (const colorScheme of ['light', 'dark'] as const) {
      test(`each view is accessible and fits at ${viewport.width} px, ${colorScheme}`, async () => {
        const page = await browser.newPage({ viewport, colorScheme })
        const problems: string[] = []
        page.on('pageerror', ({ message }) => problems.push(message))
        await page.goto(`${demo.url}/#token=${demo.token}`)
        const nav = page.getByRole('navigation').locator('a[href^="#/"]')
        await nav.first().waitFor()
        const views = await nav.evaluateAll((links) => links.map((link) => String(link.getAttribute('href'))))
        assert.ok(views.length >= 9, views.join(' '))
        const [dead] = await demo.invoke('dead-letter-list', { queue: 'dispatch', limit: 1 })
        const { messages } = await demo.invoke('message-search', {
          gateway: 'support',
          outcome: 'done',
          limit: 1,
        })
        const [{ id, gateway, conversation }] = messages
        const single = [`#/messages/${id}`, `#/messages/${dead.id}`, `#/dead-letters/${dead.id}`]
        const chat = `#/conversations/${gateway}/${encodeURIComponent(conversation)}`
        for (const view of [...views, ...single, chat, '#/messages?outcome=dead']) {
          await page.goto(`${demo.url}/${view}`)
          await page.getByRole('heading', { level: 1 }).waitFor()
          problems.push(...(await faultsOf(page)).map((fault) => `${view}: ${fault}`))
        }
        assert.deepEqual(problems, [])
        await page.close()
      })
    }
  }
})

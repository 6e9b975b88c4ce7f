// `npm run screenshots`: pictures of the console for the documentation, taken of the demo, so that anybody can make them again.
import { mkdirSync, statSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { chromium } from 'playwright-core'
import { startDemo } from '../test/fixtures/demo.ts'

const FOLDER = 'docs/images'
/** More would make a clone slow to get. */
const MOST_BYTES = 150_000
/** Until the charts have something to show. */
const WARM_UP = 60_000

const demo = await startDemo({ messages: 2_000 })
const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
})
try {
  mkdirSync(FOLDER, { recursive: true })
  await wait(WARM_UP)
  const conversation = await longestConversation()
  const letter = ['messages', await deadMessage()]
  for (const scheme of ['light', 'dark'] as const) {
    await take('now', [''], 1440, scheme)
    await take('message', letter, 1440, scheme)
  }
  await take('messages', ['messages'], 390, 'light')
  await take('conversation', conversation, 390, 'dark')
} finally {
  await browser.close()
  await demo.stop()
}

async function take(name: string, path: readonly string[], width: number, colorScheme: 'light' | 'dark') {
  const height = width === 390 ? 760 : 720
  const page = await browser.newPage({ viewport: { width, height }, colorScheme, reducedMotion: 'reduce' })
  await page.goto(`${demo.url}/#token=${demo.token}`)
  await page.getByRole('navigation').waitFor()
  await page.evaluate(`location.hash = ${JSON.stringify(`#/${path.map(encodeURIComponent).join('/')}`)}`)
  await wait(3_000)
  const file = `${FOLDER}/${name}-${width}-${colorScheme}.png`
  await page.screenshot({ path: file })
  await page.close()
  const { size } = statSync(file)
  console.log(`${file}  ${Math.round(size / 1000)} kB${size > MOST_BYTES ? ', LARGER than is wanted' : ''}`)
}

async function longestConversation(): Promise<string[]> {
  const { conversations } = await demo.invoke('conversation-list', { gateway: 'support', limit: 200 })
  const [longest] = conversations.toSorted((a: Counted, b: Counted) => b.messages - a.messages)
  return ['conversations', longest.gateway, longest.conversation]
}

type Counted = { messages: number }

async function deadMessage(): Promise<string> {
  const { messages } = await demo.invoke('message-search', { gateway: 'support', outcome: 'dead', limit: 1 })
  return messages[0].id
}

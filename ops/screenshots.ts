// `npm run screenshots`: takes the pictures of the console for the documentation, with the data of
// the demo.
import { mkdirSync, statSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { chromium } from 'playwright-core'
import { startDemo } from '../test/fixtures/demo.ts'

const FOLDER = 'docs/images'
/** Larger files would make cloning slow. */
const MAX_BYTES = 150_000
/** How long (ms) the demo runs until its charts show something. */
const WARM_UP_MS = 60_000
/** How long (ms) a page has to load its data. */
const LOADING_MS = 3_000
/** Widths (CSS pixels) of a desktop and of a phone. */
const DESKTOP = 1440
const PHONE = 390

const demo = await startDemo({ messages: 2_000 })
const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
})
try {
  mkdirSync(FOLDER, { recursive: true })
  await wait(WARM_UP_MS)
  const conversation = await longestConversation()
  const deadLetter = ['messages', await deadMessage()]
  for (const scheme of ['light', 'dark'] as const) {
    await takeScreenshot('now', [''], DESKTOP, scheme)
    await takeScreenshot('message', deadLetter, DESKTOP, scheme)
  }
  await takeScreenshot('conversations', ['conversations'], DESKTOP, 'light')
  await takeScreenshot('skills', ['skills'], DESKTOP, 'light')
  await takeScreenshot('messages', ['messages'], PHONE, 'light')
  await takeScreenshot('conversation', conversation, PHONE, 'dark')
} finally {
  await browser.close()
  await demo.stop()
}

async function takeScreenshot(
  name: string,
  path: readonly string[],
  width: number,
  colorScheme: 'light' | 'dark',
) {
  const height = width === PHONE ? 760 : 720
  const page = await browser.newPage({ viewport: { width, height }, colorScheme, reducedMotion: 'reduce' })
  await page.goto(`${demo.url}/#token=${demo.token}`)
  // On a phone the views are behind the menu.
  await page.locator('#views').waitFor({ state: 'attached' })
  await page.evaluate(`location.hash = ${JSON.stringify(`#/${path.map(encodeURIComponent).join('/')}`)}`)
  await wait(LOADING_MS)
  const file = `${FOLDER}/${name}-${width}-${colorScheme}.png`
  await page.screenshot({ path: file })
  await page.close()
  const { size } = statSync(file)
  const warning = size > MAX_BYTES ? `, LARGER than ${MAX_BYTES / 1000} kB` : ''
  console.log(`${file}  ${Math.round(size / 1000)} kB${warning}`)
}

async function longestConversation(): Promise<string[]> {
  const { conversations } = await demo.invoke('conversation-list', { gateway: 'support', limit: 200 })
  const [longest] = conversations.toSorted((a: MessageCount, b: MessageCount) => b.messages - a.messages)
  return ['conversations', longest.gateway, longest.conversation]
}

type MessageCount = { messages: number }

async function deadMessage(): Promise<string> {
  const { messages } = await demo.invoke('message-search', { gateway: 'support', outcome: 'dead', limit: 1 })
  return messages[0].id
}

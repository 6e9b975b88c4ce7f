import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { createStory, readContent } from '../../src/cli/demo/story.ts'
import { openSite } from '../fixtures/daemon.ts'

const FALLBACK = 'Somebody of our team looks at it'
const COURIER = /is with the courier\. It should arrive/
const read = (path: string) => readFile(new URL(`../../project/demo/${path}`, import.meta.url), 'utf8')

test('the desk of the demo answers each kind of question of its story', async () => {
  const story = createStory(readContent(await read('words.yaml')))
  const messages = Array.from({ length: 40 }, () => story.batch(30))
    .flat()
    .filter(({ kind, subject }) => /^(mail|slack|chat)$/.test(kind) && !/^(Refund|Invoice)/.test(subject))
    .map(({ content, subject }) => ({ text: String(content), subject }))
    .filter(({ text }) => !text.startsWith('deploy'))
  // Texts that only differ in numbers have the same answer.
  const withoutNumbers = ({ text }: { text: string }) => text.replaceAll(/\d+/g, '#')
  const kinds = new Map(messages.map((message) => [withoutNumbers(message), message]))
  assert.ok(kinds.size > 100)
  const site = openSite({
    routes: 'routes: []',
    skills: { desk: await read('skills/desk/index.ts') },
  })
  const daemon = await site.start()
  for (const args of kinds.values()) {
    const result = await daemon.invoke('desk', args)
    const answer = typeof result === 'string' ? result : ''
    const about = `${args.subject}: ${args.text} → ${answer}`
    assert.ok(!answer.startsWith(FALLBACK) && !answer.includes('of yours'), about)
    assert.equal(COURIER.test(answer), /where (is|order)/i.test(args.text), about)
    if (args.text.includes('?')) assert.notEqual(answer, '', about)
  }
})

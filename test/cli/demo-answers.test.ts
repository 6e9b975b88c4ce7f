import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { createStory, readContent } from '../../src/cli/demo/story.ts'
import { openSite } from '../fixtures/daemon.ts'

const FALLBACK = 'Somebody of our team looks at it'
const COURIER = /is with the courier\. It should arrive/
const read = (path: string) => readFile(new URL(`../../project/demo/${path}`, import.meta.url), 'utf8')

test('the desk of the demo answers each question with what was asked for, and thanks with nothing', async () => {
  const story = createStory(readContent(await read('words.yaml')))
  const heard = Array.from({ length: 40 }, () => story.batch(30))
    .flat()
    .filter(({ kind, subject }) => /^(mail|slack|chat)$/.test(kind) && !/^(Refund|Invoice)/.test(subject))
    .map(({ content, subject }) => ({ text: String(content), subject }))
    .filter(({ text }) => !text.startsWith('deploy'))
  // The names and numbers in them change no answer.
  const asked = [...new Map(heard.map((each) => [each.text.replaceAll(/\d+/g, '#'), each])).values()]
  assert.ok(asked.length > 100)
  const site = openSite({
    routes: 'routes: []',
    skills: { desk: await read('skills/desk/index.ts') },
  })
  const daemon = await site.start()
  for (const args of asked) {
    const said = await daemon.invoke('desk', args)
    const answer = typeof said === 'string' ? said : ''
    const about = `${args.subject}: ${args.text} → ${answer}`
    assert.ok(!answer.startsWith(FALLBACK) && !answer.includes('of yours'), about)
    assert.equal(COURIER.test(answer), /where (is|order)/i.test(args.text), about)
    if (args.text.includes('?')) assert.notEqual(answer, '', about)
  }
})

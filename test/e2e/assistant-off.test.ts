import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
assistant: false
routes: [{ name: all, fallback: true, skill: echo }]
`
const OWN_WORDS = JSON.stringify([
  { name: 'note', description: 'Keeps a note.', prefixes: ['note'], ref: 'remember' },
  { name: 'words', description: 'The help.', prefixes: ['words'], ref: 'assistant-help' },
])

describe('with `assistant: false`', { timeout: 300_000 }, async () => {
  const site = openSite({ routes: ROUTES })
  site.write('skills/skills.json', OWN_WORDS)
  const say = async (text: string) => {
    const { code, out, err } = await site.run(['message', 'cli', text])
    assert.equal(code, 0, err)
    return out.trim()
  }
  await site.start()

  test('the words of the assistant are ordinary text', async () => {
    assert.equal(await say('remember the milk'), 'You said: remember the milk')
    assert.equal(await say('help'), 'You said: help')
  })

  test('words of the project still work, and the help lists only them', async () => {
    assert.equal(await say('note the milk'), 'Stored note memory-1.')
    const help = await say('words')
    assert.match(help, /Keeps a note/)
    assert.doesNotMatch(help, /recall|digest|schedule/)
  })

  test('`status` lists only words that work', async () => {
    const { out } = await site.run(['status', '--json'])
    const names = JSON.parse(out).registry.map(({ name }: { name: string }) => name)
    assert.deepEqual(names.sort(), ['note', 'words'])
  })

  test('its skills can still be called by name', async () => {
    const { code, out, err } = await site.run(['remember', '--text', 'the bread'])
    assert.equal(code, 0, err)
    assert.match(out, /memory-2/)
  })

  test('removing the key turns the words on at the next reload', async () => {
    site.write('routes.yaml', ROUTES.replace('assistant: false\n', ''))
    await until(async () => (await say('remember the tea')).startsWith('Stored note'), 'the words')
  })
})

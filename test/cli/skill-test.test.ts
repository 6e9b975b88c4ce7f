import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { startOpenAiServer } from '../fixtures/openai-server.ts'

const CASES = `cases:
  - name: adds
    input: what is two and two?
    conversation: sums
    expect:
      text: [four, /FOUR/i]
      not: five
      tools: [{ name: state-set, args: { key: sum } }]
      tokens: 100
  - input: { text: and again?, tone: kind }
    conversation: sums
    expect: { text: still }
`
const API_KEY = 'sk-very-secret-key-1234'

describe('trivium skill test', { timeout: 300_000 }, async () => {
  const set = { name: 'state-set', args: { key: 'sum', value: `4 ${API_KEY}` } }
  const model = await startOpenAiServer([
    // The two calls of the case `adds` use 60 tokens.
    { calls: [set], usage: { input: 20, output: 5 } },
    { text: 'It is four.', usage: { input: 30, output: 5 } },
    { text: `Still four, ${API_KEY}.` },
  ])
  after(() => model.close())
  const site = openSite({
    routes: `gateways: {}\nmodel: { name: "local:tiny", base-url: "${model.url}", api-key: "${API_KEY}" }\nroutes: []\n`,
  })
  const front =
    '---\nname: sums\ndescription: Adds.\nallowed-tools: state-set\nmetadata:\n  session: args.sessionId\n---\n'
  site.write('skills/sums/SKILL.md', `${front}Add. :arg[tone]\n`)
  const recorded = join(site.dir, 'skills/sums/cases.recorded.json')
  const run = (...args: string[]) => site.run(['skill', 'test', 'sums', ...args])

  test('names a missing file of cases, each fault in it, and a case without a recording', async () => {
    const none = await run()
    assert.equal(none.code, 2)
    assert.match(none.err, /no cases: write .*skills\/sums\/cases\.yaml/)
    site.write(
      'skills/sums/cases.yaml',
      'cases:\n  - input: hi\n    expect: { texts: a }\n  - input: 1\n    expect: { text: "/(/" }\n',
    )
    const { code, err } = await run()
    assert.equal(code, 2)
    assert.match(err, /cases\.yaml:3:15 {2}unknown key "texts"; did you mean "text"\?/)
    assert.match(err, /cases\.yaml:4:/)
    assert.match(err, /cases\.yaml:5:.*RE2/)
    site.write('skills/sums/cases.yaml', CASES)
    const unrecorded = await run()
    assert.equal(unrecorded.code, 1)
    assert.match(unrecorded.out, /adds +FAILED .*not recorded; run with\s+--record/s)
  })

  test('records the answers of the model without secrets, and does not change the state of the project', async () => {
    const { code, out, err } = await run('--record')
    assert.equal(code, 0, out + err)
    assert.match(out, /adds +ok +60 +[\d.]+ (?:ms|s) +state-set/)
    assert.match(
      out,
      /2 cases \(record\), all passed\nSaved the answers of the passed cases in .*cases\.recorded\.json/,
    )
    const recording = readFileSync(recorded, 'utf8')
    assert.doesNotMatch(recording, new RegExp(API_KEY))
    assert.match(recording, /Still four, \[secret\]/)
    assert.equal(existsSync(join(site.dir, '.trivium/state')), false)
    const prompts = model.requests.map(({ messages }) => JSON.stringify(messages))
    assert.match(prompts[2] ?? '', /It is four/, 'cases of a conversation share its session')
    assert.match(prompts[2] ?? '', /Add\. .*kind/)
    assert.doesNotMatch(prompts[0] ?? '', /cases/, 'the model does not see cases.yaml among the files')
  })

  test('replays the recording without a model, and fails if an expectation is not met', async () => {
    const replayed = await run('--json')
    assert.equal(replayed.code, 0, replayed.err)
    assert.partialDeepStrictEqual(JSON.parse(replayed.out), {
      skill: 'sums',
      mode: 'recorded',
      ok: true,
      cases: [
        { name: 'adds', tokens: 60, tools: [{ name: 'state-set' }] },
        { name: 'case 2', ok: true },
      ],
    })
    site.write(
      'skills/sums/cases.yaml',
      CASES.replace('four,', 'five,')
        .replace('not: five', 'not: is')
        .replace('key: sum', 'key: other')
        .replace('100', '50'),
    )
    const { code, out } = await run('--case', 'add*', '--json')
    assert.equal(code, 1)
    const [{ wrong }] = JSON.parse(out).cases
    assert.equal(wrong.length, 4)
    assert.match(
      wrong.join('\n'),
      /does not contain five: It is four\.\n.*contains is.*\n.*calls of tools differ.*\n60 tokens, over 50/,
    )
    assert.equal(model.requests.length, 3, 'a replay calls no model')
    assert.equal((await run('--case', 'nothing')).code, 2)
    const live = await run('--live', '--case', 'adds')
    assert.match(live.out, /it failed: Model local:tiny/, 'the model has no answers left')
  })

  test('replays a skill that names its model in a mapping, without access to that model', async (t) => {
    const server = await startOpenAiServer([{ text: 'It is six.' }])
    t.after(() => server.close())
    const named =
      '---\nname: product\ndescription: Multiplies.\nmodel: { name: "openai-compatible:tiny" }\n---\n'
    site.write('skills/product/SKILL.md', `${named}Multiply.\n`)
    site.write('skills/product/cases.yaml', 'cases:\n  - input: two times three\n    expect: { text: six }\n')
    const env = { OPENAI_COMPATIBLE_BASE_URL: server.url }
    const first = await site.run(['skill', 'test', 'product', '--record'], env)
    assert.equal(first.code, 0, first.out + first.err)
    const replay = await site.run(['skill', 'test', 'product'])
    assert.equal(replay.code, 0, replay.out + replay.err)
  })
})

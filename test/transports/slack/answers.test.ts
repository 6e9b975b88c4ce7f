import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { TriviumError } from '../../../src/core/errors.ts'
import type { Json, JsonObject } from '../../../src/core/json.ts'
import { openMetadata, sealMetadata } from '../../../transports/slack/view-metadata.ts'
import { startWorld } from './harness.ts'

/** What the next asked skill answers, and what it was asked. */
let answer: () => Json = () => null
const asked: { skill: string; args: JsonObject; from: object; timeout: number }[] = []
const world = await startWorld(
  { answers: { customer: 'find-customer', 'report*': 'check-report' } },
  async (skill, args, asking) => {
    asked.push({ skill, args, ...asking })
    return answer()
  },
)
after(() => world.close())
const { server, fixture } = world

const who = { team: { id: 'T0TEAM' }, user: { id: 'U1ANN', username: 'ann' } }
const deliver = (payload: JsonObject, within?: number) =>
  server.sockets.deliver('interactive', { ...who, ...payload }, within === undefined ? {} : { within })
/** What Slack is told of a select in which somebody typed `be`. */
const suggestions = async (said: Json, more: JsonObject = {}) => {
  answer = () => said
  const typed = { type: 'block_suggestion', action_id: 'customer', block_id: 'b1', value: 'be', ...more }
  const delivered = await deliver(typed)
  assert.ok(delivered.acked)
  return delivered.payload
}
const viewer = { user: 'U1ANN', workspace: { team: 'T0TEAM', token: 'xoxb-test' } }
const plain = (text: string) => ({ type: 'plain_text', text })

describe('a select with options of its own', () => {
  test('asks its skill as the person who types, and shows what it answers', async () => {
    const before = fixture.store.messages.length
    assert.deepEqual(
      await suggestions(['Berlin', { text: 'Bern', value: 'c2', description: 'the capital' }]),
      {
        options: [
          { text: plain('Berlin'), value: 'Berlin' },
          { text: plain('Bern'), value: 'c2', description: plain('the capital') },
        ],
      },
    )
    assert.deepEqual(asked.at(-1), {
      skill: 'find-customer',
      args: {
        gateway: 'team',
        team: 'T0TEAM',
        user: 'U1ANN',
        userName: 'ann',
        asks: 'options',
        action: 'customer',
        typed: 'be',
        blockId: 'b1',
      },
      from: { id: 'U1ANN', name: 'ann', address: 'U1ANN', verified: true },
      timeout: 2500,
    })
    assert.equal(fixture.store.messages.length, before, 'a question is no message')
  })

  test('shows groups, and no more than Slack takes', async () => {
    const [group] = [{ label: 'Recent', options: ['Bern'] }]
    assert.deepEqual(await suggestions([group ?? null]), {
      option_groups: [{ label: plain('Recent'), options: [{ text: plain('Bern'), value: 'Bern' }] }],
    })
    const many = Array.from({ length: 150 }, (_, number) => ({
      text: `${number}`.padEnd(100, 'x'),
      value: `${number}`,
    }))
    const shown = Object(await suggestions(many)).options
    assert.deepEqual([shown.length, shown[0].text.text.length, shown[0].value], [100, 75, '0'])
  })

  test('shows nothing where its skill fails, answers something else, or is not named', async () => {
    const refused = fixture.refused.length
    assert.deepEqual(await suggestions({ customers: 7 }), { options: [] })
    assert.deepEqual(await suggestions(null), { options: [] })
    answer = () => {
      throw new TriviumError('skill_timeout', { name: 'find-customer', timeout: '2500 ms' })
    }
    const delivered = await deliver({ type: 'block_suggestion', action_id: 'customer', value: 'x' })
    assert.deepEqual(delivered.acked && delivered.payload, { options: [] })
    assert.deepEqual(fixture.refused.slice(refused), ['answer_failed', 'answer_failed'])
    assert.deepEqual(await suggestions(['x'], { action_id: 'unknown' }), { options: [] })
    assert.match(JSON.stringify(fixture.logs.at(-1)), /name a skill for it in `answers`/)
  })
})

describe('a submitted modal', () => {
  let serial = 0
  const submission = (callback: string) => ({
    type: 'view_submission',
    trigger_id: `t${++serial}`,
    view: {
      id: `V${serial}`,
      hash: 'h',
      callback_id: callback,
      private_metadata: sealMetadata('mine', { channel: 'C0GEN' }, { gateway: 'team', ...viewer }),
      state: { values: { title: { input: { type: 'plain_text_input', value: 'x' } } } },
    },
  })
  const submit = async (said: Json, callback = 'report-bug') => {
    answer = () => said
    const before = fixture.store.messages.length
    const delivered = await deliver(submission(callback))
    assert.ok(delivered.acked)
    return { payload: delivered.payload, messages: fixture.store.messages.slice(before) }
  }

  test('with mistakes stays open and shows them, and is no message', async () => {
    const { payload, messages } = await submit({ errors: { title: 'too short' } })
    assert.deepEqual(payload, { response_action: 'errors', errors: { title: 'too short' } })
    assert.equal(messages.length, 0)
    assert.deepEqual(
      [asked.at(-1)?.skill, asked.at(-1)?.args.asks, asked.at(-1)?.args.metadata],
      ['check-report', 'submission', 'mine'],
    )
  })

  test('without mistakes is a message, and closes, or closes all', async () => {
    const answers: [Json, JsonObject | undefined][] = [
      [null, undefined],
      [{ errors: {} }, undefined],
      ['fine', undefined],
      [{ clear: true }, { response_action: 'clear' }],
    ]
    for (const [said, response] of answers) {
      const { payload, messages } = await submit(said)
      assert.deepEqual(payload, response)
      assert.deepEqual(
        messages.map(({ data, conversation }) => [data.event, data.action, conversation]),
        [['view_submission', 'report-bug', 'slack:T0TEAM:C0GEN']],
      )
    }
  })

  test('is followed by a view that belongs to the same place, whatever its skill says', async () => {
    const next = { type: 'modal', title: plain('Thanks'), blocks: [] }
    const elsewhere = JSON.stringify({ channel: 'D9BOSS' })
    for (const own of [undefined, elsewhere]) {
      const view = own === undefined ? next : { ...next, private_metadata: own }
      const { payload, messages } = await submit({ view })
      const { view: shown, ...rest } = Object(payload)
      const { private_metadata: metadata, ...same } = shown
      assert.deepEqual([rest, same, messages.length], [{ response_action: 'update' }, next, 1])
      const expected = { place: { channel: 'C0GEN' }, ...(own === undefined ? {} : { own }) }
      assert.deepEqual(openMetadata(metadata, viewer), expected)
    }
  })

  test('is not followed by a view whose button would decide an approval', async () => {
    const button = { type: 'button', action_id: 'trivium-approve', value: 'a1', text: plain('Free cake') }
    const blocks = [{ type: 'actions', elements: [button] }]
    answer = () => ({ view: { type: 'modal', title: plain('Pick'), blocks } })
    const before = fixture.store.messages.length
    const delivered = await deliver(submission('report-bug'), 300)
    assert.equal(delivered.acked, false)
    assert.equal(fixture.store.messages.length, before)
    assert.match(JSON.stringify(fixture.logs), /the action_id trivium-approve is that of Trivium's own/)
  })

  test('of which no skill was named is a message at once', async () => {
    const before = asked.length
    assert.equal((await submit({ errors: { title: 'no' } }, 'other')).messages.length, 1)
    assert.equal(asked.length, before)
  })

  test('whose skill fails or answers nonsense is neither taken nor acknowledged', async () => {
    answer = () => ({ errors: ['title'] })
    const before = fixture.store.messages.length
    const delivered = await deliver(submission('report-bug'), 300)
    assert.equal(delivered.acked, false)
    assert.equal(fixture.store.messages.length, before)
  })
})

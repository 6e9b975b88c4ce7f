import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { TriviumError } from '../../../src/core/errors.ts'
import type { Json, JsonObject } from '../../../src/core/json.ts'
import { startWorld } from './harness.ts'

/** Gives the answer of the next skill that is asked. */
let answer: () => Json = () => null
/** What the skills were asked, in order. */
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

const plain = (text: string) => ({ type: 'plain_text', text })
const deliver = (payload: JsonObject, within = 5000) => {
  const who = { team: { id: 'T0TEAM' }, user: { id: 'U1ANN', username: 'ann' } }
  return server.sockets.deliver('interactive', { ...who, ...payload }, { within })
}

describe('a select with options of its own', () => {
  /** What Slack is told of one in which somebody typed `be`. */
  const suggestions = async (said: () => Json, action_id = 'customer') => {
    answer = said
    const delivered = await deliver({ type: 'block_suggestion', action_id, block_id: 'b1', value: 'be' })
    assert.ok(delivered.acked)
    return delivered.payload
  }

  test('asks its skill as the person who types, and shows what it answers', async () => {
    const before = fixture.store.messages.length
    const bern = { text: 'Bern', value: 'c2', description: 'the capital' }
    assert.deepEqual(await suggestions(() => ['Berlin', bern]), {
      options: [
        { text: plain('Berlin'), value: 'Berlin' },
        { text: plain('Bern'), value: 'c2', description: plain('the capital') },
      ],
    })
    const who = { gateway: 'team', team: 'T0TEAM', user: 'U1ANN', userName: 'ann' }
    assert.deepEqual(asked.at(-1), {
      skill: 'find-customer',
      args: { ...who, asks: 'options', action: 'customer', typed: 'be', blockId: 'b1' },
      from: { id: 'U1ANN', name: 'ann', address: 'U1ANN', verified: true },
      timeout: 2500,
    })
    assert.equal(fixture.store.messages.length, before, 'a question is no message')
  })

  test('shows groups, and no more than Slack takes', async () => {
    assert.deepEqual(await suggestions(() => [{ label: 'Recent', options: ['Bern'] }]), {
      option_groups: [{ label: plain('Recent'), options: [{ text: plain('Bern'), value: 'Bern' }] }],
    })
    const many = Array.from({ length: 150 }, (_, number) => `${number}`.padEnd(100, 'x'))
    const shown = Object(await suggestions(() => many)).options
    assert.deepEqual([shown.length, shown[0].text.text.length, shown[0].value], [100, 75, many[0]])
  })

  test('shows nothing where its skill fails, answers something else, or is not named', async () => {
    const late = () => {
      throw new TriviumError('skill_timeout', { name: 'find-customer', timeout: '2500 ms' })
    }
    for (const said of [() => ({ customers: 7 }), late]) {
      assert.deepEqual(await suggestions(said), { options: [] })
    }
    assert.deepEqual(fixture.refused, ['answer_failed', 'answer_failed'])
    assert.deepEqual(await suggestions(() => null), { options: [] })
    assert.equal(fixture.refused.length, 2, 'no answer means no options, and is not a failure')
    assert.deepEqual(await suggestions(() => ['x'], 'unknown'), { options: [] })
    assert.match(JSON.stringify(fixture.logs.at(-1)), /set a skill for it in `answers`/)
  })
})

/** Ms to wait for an acknowledgement: short, as one case never gets any. */
const ACK_WITHIN = 500

describe('a submitted modal', () => {
  let serial = 0
  const submit = async (said: Json, callback_id = 'report-bug') => {
    answer = () => said
    const before = fixture.store.messages.length
    const view = {
      id: 'V1',
      hash: `${++serial}`,
      callback_id,
      private_metadata: 'mine',
      state: { values: {} },
    }
    const delivered = await deliver({ type: 'view_submission', trigger_id: `t${serial}`, view }, ACK_WITHIN)
    const { acked } = delivered
    return { acked, payload: acked && delivered.payload, messages: fixture.store.messages.slice(before) }
  }

  test('with mistakes stays open and shows them, and is no message', async () => {
    const { payload, messages } = await submit({ errors: { title: 'too short' } })
    assert.deepEqual(payload, { response_action: 'errors', errors: { title: 'too short' } })
    assert.equal(messages.length, 0)
    const { skill, args } = asked.at(-1) ?? assert.fail()
    assert.deepEqual([skill, args.asks, args.metadata], ['check-report', 'submission', 'mine'])
  })

  test('without mistakes is a message, and closes, or closes all', async () => {
    const cases = [
      { said: null, response: undefined },
      { said: { errors: {} }, response: undefined },
      { said: 'fine', response: undefined },
      { said: { clear: true }, response: { response_action: 'clear' } },
    ]
    for (const { said, response } of cases) {
      const { payload, messages } = await submit(said)
      assert.deepEqual(payload, response)
      assert.deepEqual(
        messages.map(({ data, conversation }) => [data.event, data.action, conversation]),
        [['view_submission', 'report-bug', 'slack:T0TEAM:U1ANN']],
      )
    }
  })

  test('is followed by the view that its skill answers', async () => {
    const view = { type: 'modal', title: plain('Thanks'), blocks: [], private_metadata: 'next' }
    const { payload, messages } = await submit({ view })
    assert.deepEqual([payload, messages.length], [{ response_action: 'update', view }, 1])
  })

  test('whose skill answers nonsense, or a button that would decide an approval, is neither taken nor acknowledged', async () => {
    const blocks = [{ type: 'actions', elements: [{ type: 'button', action_id: 'trivium-approve' }] }]
    for (const said of [{ errors: ['title'] }, { view: { type: 'modal', blocks } }]) {
      const { acked, messages } = await submit(said)
      assert.deepEqual([acked, messages], [false, []])
    }
  })
})

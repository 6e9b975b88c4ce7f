import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { TriviumError } from '../../../src/core/errors.ts'
import type { Json, JsonObject } from '../../../src/core/json.ts'
import { until } from '../../fixtures/until.ts'
import { startSlackGateway } from './harness.ts'

/** Returns the answer of the next skill that is invoked. */
let answer: () => Json = () => null
/** The invocations of skills, in order. */
const invocations: { skill: string; args: JsonObject; from: object; timeout: number }[] = []
const setup = await startSlackGateway(
  { answers: { customer: 'find-customer', 'report*': 'check-report' } },
  async (skill, args, asking) => {
    invocations.push({ skill, args, ...asking })
    return answer()
  },
)
after(() => setup.close())
const { server, fixture } = setup

const plain = (text: string) => ({ type: 'plain_text', text })
const deliver = (payload: JsonObject, within = 5000) => {
  const who = { team: { id: 'T0TEAM' }, user: { id: 'U1ANN', username: 'ann' } }
  return server.sockets.deliver('interactive', { ...who, ...payload }, { within })
}

describe('a select whose options come from a skill', () => {
  /**
   * Types `be` into a select. Resolves with the options that Slack receives; `makeAnswer` returns
   * the answer of the skill.
   */
  const suggestions = async (makeAnswer: () => Json, action_id = 'customer') => {
    answer = makeAnswer
    const delivered = await deliver({ type: 'block_suggestion', action_id, block_id: 'b1', value: 'be' })
    assert.ok(delivered.acked)
    return delivered.payload
  }

  test('invokes its skill as the person who types, and shows the options that it returns', async () => {
    const before = fixture.store.messages.length
    const bern = { text: 'Bern', value: 'c2', description: 'the capital' }
    assert.deepEqual(await suggestions(() => ['Berlin', bern]), {
      options: [
        { text: plain('Berlin'), value: 'Berlin' },
        { text: plain('Bern'), value: 'c2', description: plain('the capital') },
      ],
    })
    const who = { gateway: 'team', team: 'T0TEAM', user: 'U1ANN', userName: 'ann' }
    assert.deepEqual(invocations.at(-1), {
      skill: 'find-customer',
      args: { ...who, asks: 'options', action: 'customer', typed: 'be', blockId: 'b1' },
      from: { id: 'U1ANN', name: 'ann', address: 'U1ANN', verified: true },
      timeout: 2500,
    })
    assert.equal(fixture.store.messages.length, before, 'a question for options is not a message')
  })

  test('shows groups, and at most as many options as Slack allows', async () => {
    assert.deepEqual(await suggestions(() => [{ label: 'Recent', options: ['Bern'] }]), {
      option_groups: [{ label: plain('Recent'), options: [{ text: plain('Bern'), value: 'Bern' }] }],
    })
    const many = Array.from({ length: 150 }, (_, number) => `${number}`.padEnd(100, 'x'))
    const shown = Object(await suggestions(() => many)).options
    assert.deepEqual([shown.length, shown[0].text.text.length, shown[0].value], [100, 75, many[0]])
  })

  test('shows no options if its skill fails, returns other data, or is not configured', async () => {
    const timeOut = () => {
      throw new TriviumError('skill_timeout', { name: 'find-customer', timeout: '2500 ms' })
    }
    for (const makeAnswer of [() => ({ customers: 7 }), timeOut]) {
      assert.deepEqual(await suggestions(makeAnswer), { options: [] })
    }
    assert.deepEqual(fixture.refused, ['answer_failed', 'answer_failed'])
    assert.deepEqual(await suggestions(() => null), { options: [] })
    assert.equal(fixture.refused.length, 2, 'no answer means no options, and is not a failure')
    assert.deepEqual(await suggestions(() => ['x'], 'unknown'), { options: [] })
    assert.match(JSON.stringify(fixture.logs.at(-1)), /set a skill for it in `answers`/)
  })
})

describe('a submitted modal', () => {
  let serial = 0
  /** Submits a modal whose skill returns `result`. Waits up to `within` ms for an acknowledgement. */
  const submit = async (result: Json, within?: number) => {
    answer = () => result
    const before = fixture.store.messages.length
    const view = {
      id: 'V1',
      hash: `${++serial}`,
      callback_id: 'report-bug',
      private_metadata: 'mine',
      state: { values: {} },
    }
    const delivered = await deliver({ type: 'view_submission', trigger_id: `t${serial}`, view }, within)
    const { acked } = delivered
    return { acked, payload: acked && delivered.payload, messages: fixture.store.messages.slice(before) }
  }

  test('with errors stays open and shows them, and is not accepted as a message', async () => {
    const { payload, messages } = await submit({ errors: { title: 'too short' } })
    assert.deepEqual(payload, { response_action: 'errors', errors: { title: 'too short' } })
    assert.equal(messages.length, 0)
    const { skill, args } = invocations.at(-1) ?? assert.fail()
    assert.deepEqual([skill, args.asks, args.metadata], ['check-report', 'submission', 'mine'])
  })

  test('without errors is accepted as a message, and closes itself or all modals', async () => {
    const cases = [
      { result: null, response: undefined },
      { result: { errors: {} }, response: undefined },
      { result: 'fine', response: undefined },
      { result: { clear: true }, response: { response_action: 'clear' } },
    ]
    for (const { result, response } of cases) {
      const { payload, messages } = await submit(result)
      assert.deepEqual(payload, response)
      assert.deepEqual(
        messages.map(({ data, conversation }) => [data.event, data.action, conversation]),
        [['view_submission', 'report-bug', 'slack:T0TEAM:U1ANN']],
      )
    }
  })

  test('is replaced by the view that its skill returns', async () => {
    const view = { type: 'modal', title: plain('Thanks'), blocks: [], private_metadata: 'next' }
    const { payload, messages } = await submit({ view })
    assert.deepEqual([payload, messages.length], [{ response_action: 'update', view }, 1])
  })

  test('is neither accepted nor acknowledged if its skill returns other data, or a button that decides an approval', async () => {
    const blocks = [{ type: 'actions', elements: [{ type: 'button', action_id: 'trivium-approve' }] }]
    for (const result of [{ errors: ['title'] }, { view: { type: 'modal', blocks } }]) {
      const before = fixture.refused.length
      const { acked, messages } = await submit(result, 500)
      assert.deepEqual([acked, messages], [false, []])
      await until(() => fixture.refused.length > before, 'the refusal of the answer')
    }
  })
})

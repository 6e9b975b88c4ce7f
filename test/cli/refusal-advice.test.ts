import assert from 'node:assert/strict'
import { test } from 'node:test'
import { causeText, humanRefused } from '../../src/engine/print/refusals.ts'
import { wholeText } from '../../src/lib/printed.ts'

test('the list of refusals does not advise itself; other commands name it', () => {
  const cause = {
    gateway: 'shop',
    reason: 'signature_invalid',
    count: 1,
    total: { refused: 1, accepted: 5 },
    since: 0,
    likely: 'A stranger.',
    todo: 'Block that address; `trivium refusal list` shows where they come from.',
  }
  const refusals = [{ id: 'r1', at: 0, gateway: 'shop', from: '192.0.2.1', reason: cause.reason }]
  const list = wholeText(
    humanRefused({ daemon: 'this', groups: [cause], refusals }, { isEach: true, isScreen: true }),
  )
  assert.match(list, /Block that address; the list below\s+shows\s+where/)
  assert.doesNotMatch(list, /`trivium refusal list`/)
  assert.match(causeText(cause), /`trivium refusal list`/)
})

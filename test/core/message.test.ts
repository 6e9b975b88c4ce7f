import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { JsonObject } from '../../src/core/json.ts'
import { decodeMessage, encodeMessage, type NewMessage } from '../../src/core/message.ts'
import { isId, makeId, positionOf, timeOf } from '../../src/core/message-id.ts'
import fc from '../fixtures/fast-check.ts'

const HEAD = { id: '01a1fe02-9a5e-7000-8000-000b6b2d7e20', gateway: 'demo', receivedAt: 5 }

function messageOf(parts: Partial<NewMessage> = {}): NewMessage {
  return {
    gateway: 'demo',
    transport: 'webhook',
    from: { id: 'x' },
    text: 'hi',
    data: {},
    receivedAt: 5,
    ...parts,
  }
}

const time = fc.integer({ min: 0, max: 2 ** 47 })
const position = fc.integer({ min: 0, max: 2 ** 40 - 1 })

describe('ids', () => {
  test('contain their time and position', () => {
    fc.assert(
      fc.property(time, position, fc.integer({ min: 0, max: 2 ** 34 - 1 }), (ms, at, random) => {
        const id = makeId(ms, at, random)
        assert.ok(isId(id), id)
        assert.equal(positionOf(id), at)
        assert.equal(timeOf(id), ms)
      }),
    )
  })

  test('sort as text by time and then by position', () => {
    fc.assert(
      fc.property(time, position, time, position, (ms, at, otherMs, otherAt) => {
        fc.pre(ms !== otherMs || at !== otherAt)
        const before = ms < otherMs || (ms === otherMs && at < otherAt)
        assert.equal(makeId(ms, at) < makeId(otherMs, otherAt), before)
      }),
    )
  })
})

describe('an encoded message', () => {
  const odd = fc.constantFrom('\ud800', 'a\0b', '\n', 'a\nb\n', '')
  const text = fc.oneof(fc.string({ unit: 'binary' }), odd)
  test('decodes to the same message, with any text and data', () => {
    fc.assert(
      fc.property(text, fc.json(), fc.option(fc.string()), (text, json, subject) => {
        const data: JsonObject = { value: JSON.parse(json) }
        const message = messageOf({ text, data, ...(subject === null ? {} : { subject }) })
        const decoded = decodeMessage(HEAD, encodeMessage(message))
        assert.equal(decoded.text, text)
        assert.deepEqual(decoded.data, data)
        assert.equal(decoded.subject, message.subject)
      }),
    )
  })

  test('contains a JSON body once, which is decoded as text and data', () => {
    const body = { marker: 'only-once', list: [1, 2] }
    const text = JSON.stringify(body)
    const payload = encodeMessage(messageOf({ text, data: { format: 'json', body, event: 'push' } }))
    assert.equal(payload.split('only-once').length - 1, 1)
    const decoded = decodeMessage(HEAD, payload)
    assert.deepEqual(decoded.data, { format: 'json', body, event: 'push' })
    assert.equal(decoded.text, text)
  })

  test('can be decoded even if its text is not JSON', () => {
    const payload = encodeMessage(messageOf({ text: '{half', data: { format: 'json', body: null } }))
    assert.equal(decodeMessage(HEAD, payload).data.body, '{half')
  })
})

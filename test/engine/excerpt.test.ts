import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { excerptOf } from '../../src/engine/excerpt.ts'

describe('the excerpt of a message that a search found', () => {
  const from = { id: 'ada', verified: true }
  const data = { event: 'orders/paid' }
  const body = JSON.stringify({ id: 'lvl-4711', sku: 'NL-1075', place: 'C14' })

  test('is around a match that the row does not show', () => {
    const summary = 'sku: NL-1075 · place: C14'
    assert.equal(excerptOf({ text: body, from, data }, summary, { numbers: ['4711'] }), body)
    const long = `${'first words '.repeat(20)}the NEEDLE is here${' last words'.repeat(20)}`
    const excerpt = excerptOf({ text: long, from, data }, undefined, { words: ['needle'] })
    assert.match(excerpt ?? '', /^…t words first words the NEEDLE is here last words .*…$/)
  })

  test('is around a match with other marks', () => {
    const text = `${'first words '.repeat(20)}from Leïla Koval`
    assert.match(excerptOf({ text, from, data }, undefined, { words: ['leila'] }) ?? '', /from Leïla Koval$/)
  })

  test('is absent if the row shows all matches', () => {
    const query = { words: ['NL-1075', 'ada', 'order'] }
    assert.equal(excerptOf({ text: `${body} order`, from, data }, 'sku: NL-1075', query), undefined)
    assert.equal(excerptOf({ text: 'about 4711', from, data }, undefined, { numbers: ['4711'] }), undefined)
    assert.equal(excerptOf({ text: 'about 4711', from, data }, undefined, {}), undefined)
  })
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { foldedTest, foldText } from '../../src/lib/fold-text.ts'

describe('searches ignore case and the marks of letters', () => {
  test('on both sides, in one character or two', () => {
    const same = ['Leïla', 'LEILA', 'leïla', 'Lei\u0308la', 'leila']
    for (const one of same)
      for (const other of same) assert.ok(foldedTest(one)(`from ${other} Koval`), `${one} in ${other}`)
    assert.ok(foldedTest('novakova')('Petra Nováková'))
    assert.ok(foldedTest('istanbul')('İSTANBUL') && foldedTest('İstanbul')('istanbul'))
    assert.ok(foldedTest('елка')('Ёлка') && foldedTest('αθηνα')('Αθήνα'))
  })

  test('take letters that have no marks for those that people type instead', () => {
    const pairs = [
      ['lukasz', 'Łukasz Wiśniewski'],
      ['thor', 'Björk Þórsdóttir'],
      ['orjan', 'Ørjan'],
      ['weiss', 'Hannah Weiß'],
      ['WEISS', 'WEIẞ'],
      ['saether', 'Sæther'],
      ['coeur', 'Cœur'],
      ['dokovic', 'Đoković'],
      ['gudrun', 'Guðrún'],
      ['isik', 'Işık'],
    ] as const
    for (const [typed, name] of pairs) {
      assert.ok(foldedTest(typed)(name), `${typed} in ${name}`)
      assert.ok(foldedTest(name)(name.toUpperCase()), name)
      assert.ok(foldText(name).includes(foldText(typed)), `${typed} in ${name}, folded`)
    }
    assert.ok(foldedTest('Weiß')('weiss') && foldedTest('Łukasz')('lukasz'))
  })

  test('keep other letters, marks of other scripts, and signs', () => {
    assert.equal(foldedTest('leila')('Layla'), false)
    assert.equal(foldedTest('oe')('Zoë'), true)
    assert.equal(foldedTest('かき')('がき'), false)
    assert.equal(foldedTest('कि')('का'), false)
    assert.ok(foldedTest('a+b (c) [d] /e-f')('xA+B (C) [D] /É-F'))
    assert.equal(foldedTest('a.b')('axb'), false)
    assert.equal(foldedTest('a')(undefined), false)
  })

  test('also in a text that is too long for a pattern', () => {
    const long = 'é'.repeat(30_000)
    assert.ok(foldedTest('E'.repeat(20_000))(long))
    assert.equal(foldedTest('E'.repeat(30_001))(long), false)
  })

  test('a folded text is comparable', () => {
    assert.equal(foldText('Leïla İnan'), foldText('LEILA INAN'))
  })
})

import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { controlToken } from '../../src/control/token.ts'
import { createFolder } from '../skills/support/folder.ts'

describe('the control token', () => {
  test('is made once, long and random, and only its owner can read it', async (t) => {
    const dir = await createFolder(t)
    const token = controlToken(dir, undefined)
    assert.ok(token.length >= 40)
    assert.equal(controlToken(dir, undefined), token)
    assert.notEqual(controlToken(await createFolder(t), undefined), token)
    assert.equal(statSync(join(dir, 'control-token')).mode & 0o777, 0o600)
  })

  test('that is given wins, and is written nowhere', async (t) => {
    const dir = await createFolder(t)
    assert.equal(controlToken(dir, 'given'), 'given')
    assert.throws(() => readFileSync(join(dir, 'control-token')), /ENOENT/)
  })
})

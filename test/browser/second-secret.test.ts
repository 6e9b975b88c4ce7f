import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withSecond } from '../../src/lib/second-secret.ts'

const ofVariables = (...variables: string[]) => withSecond({ setting: 'verify.secret', variables })

test('the line of a secret lists a new variable beside those that it has', () => {
  assert.deepEqual(ofVariables('HUB'), { added: 'HUB_NEW', line: `secret: ["\${HUB}", "\${HUB_NEW}"]` })
  assert.deepEqual(withSecond({ setting: 'verify.secret', variables: [] }), {
    added: 'SECRET_NEW',
    line: `secret: ["the old secret", "\${SECRET_NEW}"]`,
  })
})

test('a variable that is in use is not proposed as the new one', () => {
  assert.deepEqual(ofVariables('HUB', 'HUB_NEW'), {
    added: 'HUB_NEW_2',
    line: `secret: ["\${HUB}", "\${HUB_NEW}", "\${HUB_NEW_2}"]`,
  })
  assert.equal(ofVariables('HUB', 'HUB_NEW_2', 'HUB_NEW').added, 'HUB_NEW_3')
})

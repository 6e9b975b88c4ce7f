import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { compileMember } from '../../src/core/identity.ts'

/** Whether the member matches the id on a transport with case-sensitive ids, and on one without. */
const matches = (member: string, id: string, roles: string[] = []) => {
  const isMember = compileMember(member)
  return {
    caseSensitive: isMember({ kind: 'route', id, roles }),
    caseless: isMember({ kind: 'route', id, roles, caseless: true }),
  }
}

describe('members', () => {
  test('an identity matches only itself, also by globs and regexes', () => {
    for (const [member, id] of [
      ['chat:Admin', 'chat:admin'],
      ['chat:admin', 'chat:ADMIN'],
      ['slack:U2', 'slack:u2'],
      ['*:U2', 'slack:u2'],
      ['chat:Ad*', 'chat:admin'],
      ['chat:[A-B]da', 'chat:ada'],
      ['chat:{Ada,Bob}', 'chat:bob'],
      ['chat:/^Ada$/', 'chat:ada'],
      ['Chat:ada', 'chat:ada'],
      // Look-alikes: Cyrillic а, Kelvin sign, fullwidth, combining, dotless i, long s, invisible.
      ['chat:ada', 'chat:аda'],
      ['chat:kim', 'chat:\u212aim'],
      ['chat:ada', 'chat:ａda'],
      ['chat:zo\u00eb', 'chat:zoe\u0308'],
      ['chat:irene', 'chat:ırene'],
      ['chat:sam', 'chat:ſam'],
      ['chat:ada', 'chat:ada\u200b'],
    ] as const) {
      assert.equal(matches(member, id).caseSensitive, false, `${member} is not ${id}`)
    }
    for (const member of ['chat:Ada', '*:Ada', 'chat:A*', 'chat:[A]da', 'chat:/^ada$/i', '*'])
      assert.equal(matches(member, 'chat:Ada').caseSensitive, true, member)
  })

  test('on a transport that ignores case, a member matches in any case', () => {
    for (const member of [
      'mail:Ada@Example.com',
      'mail:ada@example.com',
      '*:Ada@Example.com',
      'mail:*@Example.com',
    ])
      assert.equal(matches(member, 'mail:ada@example.com').caseless, true, member)
    for (const [member, id] of [
      ['mail:kim@example.com', 'mail:\u212aim@example.com'],
      ['mail:\u212aim@example.com', 'mail:kim@example.com'],
      ['mail:ada@example.com', 'mail:ada@example.org'],
      ['mail:*@example.com', 'mail:ada@exampleécom'],
    ] as const)
      assert.equal(matches(member, id).caseless, false, `${member} is not ${id}`)
  })

  test('a gateway that is a pattern is refused with the two accepted forms', () => {
    for (const member of ['sup*:ann', '{a,b}:ann', 'team-?:group:S1'])
      assert.throws(
        () => compileMember(member),
        /the gateway of .* is a pattern; write its name, or \*/,
        member,
      )
    assert.throws(() => compileMember('ann*'), /"ann\*" has no gateway/)
  })

  test('roles compare exactly', () => {
    const rolesOfAda = ['admin']
    for (const isMatch of Object.values(matches('role:Admin', 'chat:ada', rolesOfAda)))
      assert.equal(isMatch, false)
    for (const isMatch of Object.values(matches('role:admin', 'chat:ada', rolesOfAda)))
      assert.equal(isMatch, true)
  })
})

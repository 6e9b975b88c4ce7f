import assert from 'node:assert/strict'
import { test } from 'node:test'
import { httpPage } from '../../ops/docs/http.ts'

const call = (summary: string) => ({ summary })

test('the page of HTTP calls has the calls for any skill among those of the daemon', () => {
  const page = httpPage({
    paths: {
      '/v1/skills/{name}': { get: call('Shows a skill.'), post: call('Invokes a skill.') },
      '/v1/skills/echo': { post: call('Repeats a text.') },
      '/v1/skills/approval-click': { post: call('Handles a button.') },
    },
  })
  const [daemon = '', skills = ''] = page.split('## Skills')
  assert.match(daemon, /`GET \/v1\/skills\/\{name\}`[\s\S]*`POST \/v1\/skills\/\{name\}`/)
  assert.match(skills, /`POST \/v1\/skills\/echo`/)
  assert.doesNotMatch(skills, /\{name\}|approval-click/)
})

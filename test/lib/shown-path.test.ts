import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shownPath } from '../../src/lib/shown-path.ts'

test('a path is relative to a folder if it is inside, and absolute otherwise', () => {
  assert.equal(shownPath('/srv/bot', '/srv/bot/routes.yaml'), 'routes.yaml')
  assert.equal(shownPath('/srv/bot', '/srv/bot'), '.')
  assert.equal(shownPath('/srv/bot', '/srv/bot/..data/routes.yaml'), '..data/routes.yaml')
  assert.equal(shownPath('/srv/bot', '/srv'), '/srv')
  assert.equal(shownPath('/var/lib/trivium', '/etc/trivium/routes.yaml'), '/etc/trivium/routes.yaml')
  assert.equal(shownPath('/', '/etc/trivium/routes.yaml'), '/etc/trivium/routes.yaml')
})

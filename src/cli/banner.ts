import { relative } from 'node:path'
import type { Config } from '../config/load-config.ts'
import { pathGet } from '../core/json.ts'
import type { Daemon } from '../daemon.ts'

/** What `trivium start` prints: where everything is, and what to try next. */
export function banner(started: {
  daemon: Daemon
  listen: string
  control: string
  version: string
  took: number
}): string {
  const { daemon, listen, control, version, took } = started
  const config = daemon.config()
  const { dataDir, token } = config.daemon
  const isSick = (name: string) => daemon.gateways.list().some((each) => each.name === name && !each.ok)
  const gateways = config.gateways.map(({ name, transport, enabled }) => {
    return `${name} (${transport}${enabled ? (isSick(name) ? ', NOT RUNNING' : '') : ', off'})`
  })
  const notices = daemon.notices().map((notice) => `  ! ${notice}`)
  return `
  Trivium ${version} is ready (${took} ms)

  listening   http://${listen}   webhooks and WebSocket
  console     http://${control}   token: ${token === undefined ? `${near(dataDir)}/control-token` : 'the one that was given (TRIVIUM_TOKEN)'}
  store       ${daemon.store.kind === 'embedded' ? `embedded, ${near(dataDir)}/trivium.db` : daemon.store.address}
  routes      ${near(config.file)}   (a saved change takes effect at once)
  gateways    ${gateways.join(', ') || 'none'}

${notices.length > 0 ? `${notices.join('\n')}\n\n` : ''}  Try:
    ${tries(config, listen).join('\n    ')}

`
}

function tries({ gateways }: Config, listen: string): string[] {
  const pathOf = (kind: string) =>
    pathGet(gateways.find(({ transport, enabled }) => transport === kind && enabled)?.options, 'path')
  const hook = pathOf('webhook')
  const ws = pathOf('websocket')
  return [
    'npx trivium message cli "hello"',
    ...(hook
      ? [`curl -s http://${listen}${hook} -H 'content-type: application/json' -d '{"hello":"world"}'`]
      : []),
    ...(ws ? [`npx wscat -c ws://${listen}${ws}      then type  {"type":"message","text":"hello"}`] : []),
    'npx trivium event-wait --topic gateway-message --follow',
    'npx trivium status',
  ]
}

function near(path: string): string {
  const shown = relative(process.cwd(), path)
  return shown.startsWith('..') ? path : shown || '.'
}

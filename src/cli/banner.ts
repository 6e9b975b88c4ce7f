import { relative } from 'node:path'
import type { Config } from '../config/load-config.ts'
import { isJsonObject } from '../core/json.ts'
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
  const lines = [
    '',
    `  Trivium ${version} is ready (${took} ms)`,
    '',
    `  listening   http://${listen}   webhooks and WebSocket`,
    `  console     http://${control}   token: ${tokenPlace(config)}`,
    `  store       ${daemon.store.kind === 'embedded' ? `embedded, ${near(config.daemon.dataDir)}/trivium.db` : daemon.store.address}`,
    `  routes      ${near(config.file)}   (a saved change takes effect at once)`,
    `  gateways    ${gatewayLine(daemon, config)}`,
    '',
    ...notices(daemon),
    '  Try:',
    ...tries(config, listen).map((line) => `    ${line}`),
    '',
    '',
  ]
  return lines.join('\n')
}

function tokenPlace({ daemon }: Config): string {
  return daemon.token === undefined
    ? `${near(daemon.dataDir)}/control-token`
    : 'the one that was given (TRIVIUM_TOKEN)'
}

function gatewayLine(daemon: Daemon, config: Config): string {
  const sick = new Set(daemon.gateways.list().flatMap(({ name, ok }) => (ok ? [] : [name])))
  const names = config.gateways.map(({ name, transport, enabled }) => {
    const state = enabled ? (sick.has(name) ? ', NOT RUNNING' : '') : ', off'
    return `${name} (${transport}${state})`
  })
  return names.length === 0 ? 'none' : names.join(', ')
}

function notices(daemon: Daemon): string[] {
  const found = daemon.notices()
  return found.length === 0 ? [] : [...found.map((notice) => `  ! ${notice}`), '']
}

function tries(config: Config, listen: string): string[] {
  const open = config.gateways.find(({ transport, enabled }) => transport === 'webhook' && enabled)
  const socket = config.gateways.find(({ transport, enabled }) => transport === 'websocket' && enabled)
  const lines = ['npx trivium message cli "hello"']
  const hook = pathOf(open?.options)
  if (hook) {
    lines.push(`curl -s http://${listen}${hook} -H 'content-type: application/json' -d '{"hello":"world"}'`)
  }
  const ws = pathOf(socket?.options)
  if (ws) lines.push(`npx wscat -c ws://${listen}${ws}      then type  {"type":"message","text":"hello"}`)
  lines.push('npx trivium event-wait --topic gateway-message --follow', 'npx trivium status')
  return lines
}

function pathOf(options: unknown): string | undefined {
  return isJsonObject(options) && typeof options.path === 'string' ? options.path : undefined
}

function near(path: string): string {
  const shown = relative(process.cwd(), path)
  return shown.startsWith('..') ? path : shown || '.'
}

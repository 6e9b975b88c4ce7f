import { isJsonObject, type Json, type JsonObject, pathGet } from '../core/json.ts'
import { age, shorten, table } from './terminal.ts'

/** A message and its history, for people. */
export function showMessage(found: Json): string {
  const message = objectAt(found, 'message')
  const history = pathGet(found, 'history')
  const fields = ['id', 'gateway', 'transport', 'conversation', 'key', 'from', 'to', 'subject', 'trace']
  const rows = fields.flatMap((name) => (message[name] === undefined ? [] : [[name, plain(message[name])]]))
  rows.splice(1, 0, ['received', new Date(Number(message.receivedAt)).toISOString()])
  const notes = Array.isArray(history) ? history.filter(isJsonObject) : []
  const lines = notes.map(({ at, road, what, detail }) => [time(at), road, what, detail])
  return [
    table(['', ''], rows).trimStart(),
    '',
    String(message.text ?? ''),
    '',
    lines.length === 0 ? 'Nothing has happened to it yet.' : table(['time', 'road', 'what', ''], lines),
  ].join('\n')
}

/** A list of messages, newest first, for people. */
export function listMessages(found: Json): string {
  const messages = Array.isArray(found) ? found.filter(isJsonObject) : []
  if (messages.length === 0) return 'No messages.'
  const now = Date.now()
  const rows = messages.map((message) => [
    message.id,
    age(Number(message.receivedAt), now),
    message.gateway,
    shorten(plain(message.from), 30),
    shorten(String(message.subject ?? message.text ?? ''), 60),
  ])
  return table(['id', 'age', 'gateway', 'from', 'text'], rows)
}

function objectAt(value: Json, key: string): JsonObject {
  const found = pathGet(value, key)
  return isJsonObject(found) ? found : {}
}

function plain(value: Json | undefined): string {
  if (isJsonObject(value)) return String(value.address ?? value.name ?? value.id ?? JSON.stringify(value))
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function time(at: Json | undefined): string {
  return new Date(Number(at)).toISOString().slice(11, 23)
}

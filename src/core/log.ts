/** What a part may log: one line an event, structured fields first. pino's logger is one. */
export type Log = {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
  child(fields: object): Log
}

/** A log that says nothing, for whom what goes wrong is told by an error. */
export const silent: Log = { debug() {}, info() {}, warn() {}, error() {}, child: () => silent }

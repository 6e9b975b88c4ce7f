/** Audio file extensions, for files without a type. */
const EXTENSION = /\.(m4a|mp3|mpga|mpeg|ogg|oga|opus|wav|weba|flac|aac|amr|caf)$/i

/** Types that do not say whether a file is a recording. */
const UNSPECIFIC_TYPE = /^(application\/(octet-stream|ogg)|)$/
/** Audio types that are not recordings: notes and play lists. */
const NO_SOUND = /midi|mpegurl|scpls/

/** Whether a file is a recording, by its type, or by its name if the type is unspecific. */
export function isAudio({ name, type }: { name: string; type: string }): boolean {
  const [mediaType = ''] = type.toLowerCase().split(';', 1)
  if (mediaType.startsWith('audio/')) return !NO_SOUND.test(mediaType)
  return UNSPECIFIC_TYPE.test(mediaType.trim()) && EXTENSION.test(name)
}

/** Bytes before the samples of a WAV file in its usual form. Shorter files are not recordings. */
const WAV_HEADER = 44

/**
 * Duration of a recording in seconds, if its container states it: WAV, Ogg, and MP4 as written by
 * phones and Slack.
 */
export function secondsOf(bytes: Buffer): number | undefined {
  if (bytes.length < WAV_HEADER) return undefined
  const magic = bytes.toString('latin1', 0, 4)
  if (magic === 'RIFF') return secondsOfWav(bytes)
  if (magic === 'OggS') return secondsOfOgg(bytes)
  return bytes.toString('latin1', 4, 8) === 'ftyp' ? secondsOfMp4(bytes) : undefined
}

/** Bytes 16 to 20 of the chunk `fmt ` are the bytes per second. */
function secondsOfWav(bytes: Buffer): number | undefined {
  const format = bytes.indexOf('fmt ')
  const bytesPerSecond = format > 0 && format + 20 <= bytes.length ? bytes.readUInt32LE(format + 16) : 0
  return bytesPerSecond > 0 ? (bytes.length - WAV_HEADER) / bytesPerSecond : undefined
}

/**
 * The number of samples (bytes 6 to 14 of the last page), divided by the sample rate: for Opus
 * always 48,000, for Vorbis in the first header.
 */
function secondsOfOgg(bytes: Buffer): number | undefined {
  const lastPage = bytes.lastIndexOf('OggS')
  if (lastPage + 14 > bytes.length) return undefined
  const samples = Number(bytes.readBigInt64LE(lastPage + 6))
  const vorbis = bytes.subarray(0, 200).indexOf('\u0001vorbis')
  if (vorbis + 16 > bytes.length) return undefined
  const rate = vorbis > 0 ? bytes.readUInt32LE(vorbis + 12) : 48_000
  return samples > 0 && rate > 0 ? samples / rate : undefined
}

/**
 * The box `mvhd` has the units per second, and the duration in these units. Its version 1 has
 * longer fields.
 */
function secondsOfMp4(bytes: Buffer): number | undefined {
  const header = bytes.indexOf('mvhd')
  if (header < 0 || header + 36 > bytes.length) return undefined
  const isVersion1 = bytes[header + 4] === 1
  const unitsPerSecond = bytes.readUInt32BE(header + (isVersion1 ? 24 : 16))
  const units = isVersion1 ? Number(bytes.readBigUInt64BE(header + 28)) : bytes.readUInt32BE(header + 20)
  return unitsPerSecond > 0 && units > 0 ? units / unitsPerSecond : undefined
}

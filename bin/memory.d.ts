export declare const SMALL_ENV: Readonly<Record<string, string>>;
export declare const SMALL_FLAGS: readonly string[];

export declare const SERVING_ENV: Readonly<Record<string, string>>;
export declare const SERVING_FLAGS: readonly string[];

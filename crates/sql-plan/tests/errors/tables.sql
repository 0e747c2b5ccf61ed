CREATE TABLE orders (
  id BIGINT,
  customer BIGINT,
  currency STRING,
  price DECIMAL(10, 2),
  quantity INT,
  note STRING,
  paid BOOLEAN,
  tags ARRAY<STRING>,
  address ROW<street STRING, city STRING>,
  extra MAP<STRING, INT>,
  created TIMESTAMP(3),
  ts TIMESTAMP(3),
  pt AS PROCTIME(),
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
) WITH ('connector' = 'datagen');

CREATE TABLE customers (id BIGINT, name STRING, city STRING) WITH ('connector' = 'datagen');

CREATE TABLE rates (
  currency STRING,
  rate DECIMAL(10, 4),
  ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts,
  PRIMARY KEY (currency) NOT ENFORCED
) WITH ('connector' = 'datagen');

CREATE TABLE quotes (
  currency STRING,
  rate DECIMAL(10, 4),
  ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts
) WITH ('connector' = 'datagen');

CREATE VIEW cheap AS SELECT id, price FROM orders WHERE price < 10;

CREATE TABLE totals (
  customer BIGINT,
  total DECIMAL(38, 2),
  PRIMARY KEY (customer) NOT ENFORCED
) WITH ('connector' = 'print');

CREATE TABLE strict (id BIGINT NOT NULL, name STRING) WITH ('connector' = 'print');

CREATE TABLE journal (id BIGINT, n BIGINT) WITH ('connector' = 'log');
